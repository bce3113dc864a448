type Labels = Record<string, string>
export type Sample = readonly [labels: Labels, value: number]

/** A metric with all its series. */
export interface Family {
  help: string
  /** Without the prefix `svc_`. */
  name: string
  samples: Sample[]
  type: 'counter' | 'gauge'
}

export const gauge = (name: string, help: string, samples: Sample[]): Family => ({ name, help, samples, type: 'gauge' })
export const counter = (name: string, help: string, samples: Sample[]): Family => ({
  ...{ name, help, samples },
  type: 'counter',
})
