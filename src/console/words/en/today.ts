export const today = {
  title: 'Today',
  now: 'Recording now',
  nothingNow: 'Nothing is recording.',
  elapsed: (time: string) => `${time} so far`,
  onePlace: (time: string) => `${time} of sound exists on the recorder only`,
  onePlaceExplained: 'It is copied to the controller when the take ends, or chunk by chunk.',
  risk: 'At risk',
  nothingRisk: 'No alerts, every recorder is online.',
  certificate: (date: string) => `The certificate of this site ends on ${date}`,
  next: 'Next 24 hours',
  nothingNext: 'Nothing is scheduled.',
}
