/** What a page tells the thread of the meters. */
export type ToThread =
  /** `channels`: their numbers, in the order of the bars. `told`: the page wants the levels wherever the strip is. */
  | {
      kind: 'add'
      canvas: OffscreenCanvas
      channels: number[]
      id: number
      nodeId: string
      interfaceId: string
      told: boolean
    }
  | { kind: 'remove'; id: number }
  /** Whether it is on the screen: what nobody can see is not drawn. */
  | { kind: 'seen'; id: number; seen: boolean }
  | { kind: 'size'; height: number; id: number; ratio: number; width: number }
  | { kind: 'colors'; colors: MeterColors }
  | { kind: 'tap'; id: number }
  | { kind: 'still'; still: boolean }
  | { kind: 'end' }
  /** Whether levels are wanted at all: not by a page that nobody sees, nor by one whose session has ended. */
  | { kind: 'awake'; awake: boolean }
  /** Where the levels come from. */
  | { kind: 'from'; path: string }

export interface MeterColors {
  bad: string
  good: string
  line: string
  text: string
  track: string
  warn: string
}

/** What the thread of the meters tells the page; `refused`: the stream may not be had, and is not asked for again by itself. */
export type ToPage = FromThread[] | 'refused'

/** Once a second, of each strip on the screen and of each that is `told`, several at a time: what assistive technology reads. */
export interface FromThread {
  id: number
  /** Absent: no frame for a while. */
  levels?: { clipped: boolean; db: number; speech: boolean }[]
  synthetic: boolean
}
