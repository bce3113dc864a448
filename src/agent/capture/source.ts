import type { Readable } from 'node:stream'
import type { PcmFormat } from '../audio/format.rules.ts'

export interface SourceEnd {
  /** Exit code; undefined when the source never came to life. */
  code: number | undefined
  signal?: string
  /** The end of what it said on stderr. */
  stderr: string
  /** Whether `stop` ended it. */
  stopped: boolean
}

/** One opening of a device: raw interleaved PCM until it ends or is stopped. */
export interface Source {
  /** Resolves once, when the source is gone and its last byte can be read. Never rejects. */
  readonly ended: Promise<SourceEnd>
  readonly pcm: Readable
  /** Called with what it says on stderr, as it says it; set by who reads the audio. */
  onWords?: (words: string) => void
  /** What it said on stderr so far. */
  stderr(): string
  /** Asks it to end; what it has still comes through `pcm`. */
  stop(): void
  /** Ends it now: it hangs. */
  kill(): void
}

type OpenSource = (format: PcmFormat) => Source

/** Where a capture gets its sound from. */
export interface Device {
  /** What is opened now. */
  readonly name: string
  open: OpenSource
  /** What it will give when that is asked: known before it is opened, for backends that do not let one choose. */
  gives?: (asked: PcmFormat) => Promise<PcmFormat>
  /** Looks where the device is now: cards are renumbered when they are plugged again. True when it moved. */
  relocate?: () => Promise<boolean>
  /** Asks the device what it can do, after it refused; undefined when it cannot be asked. */
  probe?: (format: PcmFormat) => Promise<string | undefined>
  /** It says so itself when it was read too late: arecord on the hardware. The clock doubts it longer than others. */
  tells?: boolean
  /** A generator standing in for a microphone; said wherever the take shows. */
  test: boolean
}
