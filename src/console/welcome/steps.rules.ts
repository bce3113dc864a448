export const STEPS = ['password', 'site', 'room'] as const
export type Step = (typeof STEPS)[number]

/** The step an address names; without one the password, for who may choose it. */
export function stepOf(named: string | null, choosesPassword: boolean): Step {
  return STEPS.find((step) => step === named) ?? (choosesPassword ? 'password' : 'site')
}

export const stepAfter = (step: Step): Step | undefined => STEPS[STEPS.indexOf(step) + 1]

interface Begun {
  choosesPassword: boolean
  rooms: number
  siteName: string
}

/** What of the first steps is still to do. */
export function stepsLeft({ choosesPassword, rooms, siteName }: Begun): Step[] {
  const open = { password: choosesPassword, room: rooms === 0, site: siteName === '' }
  return STEPS.filter((step) => open[step])
}
