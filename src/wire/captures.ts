/** The microphones a take is made with. */
export interface Capture {
  /** What people call each of `channels`; empty for one without a name. */
  channelNames?: string[]
  /** Numbers of the device's channels, from 1. */
  channels: number[]
  interfaceId: string
  /** Its alias, while its recorder has it. */
  interfaceName?: string
}

/** Sound on a recorder: captured from `since` to `until`, which may lie ahead, but for `storedSeconds` that the controller has. */
export interface Undelivered {
  since: string
  storedSeconds: number
  until: string
}

/** What the caller sees of all sound that exists on recorders only, added up at `at`. */
export interface UndeliveredTotal {
  at: string
  /** Takes that go on: each adds a second every second. */
  growing: number
  seconds: number
  takes: number
}
