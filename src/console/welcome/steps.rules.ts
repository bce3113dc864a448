export const STEPS = ['password', 'site', 'room'] as const
type Step = (typeof STEPS)[number]

/** The step an address names; without one the password, for who may choose it. */
export function stepOf(named: string | null, choosesPassword: boolean): Step {
  return STEPS.find((step) => step === named) ?? (choosesPassword ? 'password' : 'site')
}

export const stepAfter = (step: Step): Step | undefined => STEPS[STEPS.indexOf(step) + 1]

interface Begun {
  choosesPassword: boolean
  hasRoom: boolean
  siteNamed: boolean
}

/** What of the first steps is still to do. */
export function stepsLeft({ choosesPassword, hasRoom, siteNamed }: Begun): Step[] {
  const open = { password: choosesPassword, room: !hasRoom, site: !siteNamed }
  return STEPS.filter((step) => open[step])
}
