import { realpath } from 'node:fs/promises'
import * as path from 'node:path'
import { type Clock, iso, isoPlus } from '../../../kernel/clock.ts'
import { hasCode } from '../../../kernel/durable.ts'
import { Fail } from '../../../kernel/fail.ts'
import type { Log } from '../../../kernel/log.ts'
import { faultWords } from '../../../kernel/words.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { UploadsApi } from '../../uploads/api.ts'
import type { RecordingFile } from '../library/recordings.store.ts'
import { type AudioTools, measuredPeaks } from './peaks.ffmpeg.ts'
import type { WaveformStore } from './waveforms.store.ts'

interface Parts {
  clock: Clock
  /** Lends files that are no longer on this disk. */
  library: Pick<UploadsApi['library'], 'borrow' | 'has'>
  log: Log
  /** Directory of the stored files. */
  takes: string
  tools: AudioTools
  waveforms: WaveformStore
}

type Wanted = Pick<RecordingFile, 'checksum' | 'path' | 'recordingId'>

interface Making {
  /** How many are queued before it; 0 when it is being made. */
  before: number
  /** 0..1 of the one that is being made. */
  progress: number
}

const MAX_WAITING = 200
const MAX_FAILED = 500
// A file that could not be read is not retried on every request.
const FAILED_MS = 600_000

/**
 * Makes waveforms one after the other in the background. The queue is in memory: after a restart clients simply ask again.
 */
export class Waveforms {
  private readonly parts: Parts
  private readonly ending = new AbortController()
  private readonly waiting: Wanted[] = []
  private readonly failures = new Map<string, { at: number; reason: string }>()
  private running: { wanted: Wanted; progress: number } | undefined
  private work: Promise<void> = Promise.resolve()

  constructor(parts: Parts) {
    this.parts = parts
  }

  /**
   * Requests the waveform of a stored file and returns its progress.
   * @throws Fail 409 when it failed recently, 503 when too many are waiting.
   */
  want(file: Wanted): Making {
    const failed = this.failures.get(file.checksum)
    if (failed && this.parts.clock.monotonic() - failed.at < FAILED_MS)
      throw new Fail(409, 'waveform_unavailable', 'The waveform cannot be made', { body: { cause: failed.reason } })
    if (this.running?.wanted.checksum === file.checksum) return { before: 0, progress: this.running.progress }
    const at = this.waiting.findIndex(({ checksum }) => checksum === file.checksum)
    if (at >= 0) return { before: at + 1, progress: 0 }
    this.enqueue(file)
    return { before: this.waiting.length, progress: 0 }
  }

  /** The same for a file that was not requested yet; never throws. */
  prepare(file: Wanted): void {
    const { waveforms } = this.parts
    if (this.waiting.length >= MAX_WAITING || this.failures.has(file.checksum)) return
    if (!waveforms.find(file.recordingId, file.checksum)) this.want(file)
  }

  /** Allows failed files to be retried, because missing tools were installed. */
  retryFailed(): void {
    this.failures.clear()
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.work
  }

  /** Kills the running tool and clears the queue. */
  async stop(): Promise<void> {
    this.ending.abort(new Error('controller stopping'))
    this.waiting.length = 0
    await this.work
  }

  private enqueue(file: Wanted): void {
    if (this.waiting.length >= MAX_WAITING)
      throw new Fail(503, 'waveforms_busy', 'Too many waveforms are waiting: try again in a minute', {
        headers: { 'retry-after': '30' },
      })
    this.waiting.push(file)
    if (!this.running) this.work = this.all()
  }

  private async all(): Promise<void> {
    // One turn later, after the caller's response was built.
    this.running = { wanted: this.waiting[0] as Wanted, progress: 0 }
    await Promise.resolve()
    for (let next = this.waiting.shift(); next && !this.ending.signal.aborted; next = this.waiting.shift()) {
      this.running = { wanted: next, progress: 0 }
      await this.make(next, this.running)
    }
    this.running = undefined
  }

  private async make(wanted: Wanted, running: { progress: number }): Promise<void> {
    const { clock, tools, waveforms } = this.parts
    const { checksum, recordingId } = wanted
    try {
      const { file, giveBack } = await this.located(wanted)
      const seen = (part: number): void => {
        running.progress = part
      }
      const made = await measuredPeaks(tools, file, this.ending.signal, seen).finally(giveBack)
      waveforms.keep(recordingId, checksum, made, iso(clock.now()))
    } catch (e) {
      // Only the waveform is missing: clients get an error, the audio is unaffected.
      if (!this.ending.signal.aborted) this.failed(wanted, faultWords(e))
    }
  }

  private async located(wanted: Wanted): Promise<{ file: string; giveBack?: () => Promise<void> }> {
    try {
      return { file: await confined(this.parts.takes, wanted.path) }
    } catch (e) {
      if (!hasCode(e, 'ENOENT') || !this.parts.library.has(wanted)) throw e
      return this.parts.library.borrow(wanted, this.ending.signal)
    }
  }

  private failed({ checksum, recordingId }: Wanted, reason: string): void {
    this.parts.log.warn('waveform could not be generated', { recordingId, error: reason })
    this.failures.set(checksum, { at: this.parts.clock.monotonic(), reason: reason.split(':')[0] ?? 'failed' })
    if (this.failures.size > MAX_FAILED) this.failures.delete(this.failures.keys().next().value as string)
  }
}

async function confined(root: string, relative: string): Promise<string> {
  const [base, file] = await Promise.all([realpath(root), realpath(path.join(root, relative))])
  if (!file.startsWith(base + path.sep)) throw new Error('outside: not below the takes directory')
  return file
}

// Short, because people open takes that have just arrived.
const EVERY_SECONDS = 5
const BATCH = 20
// Older takes get a waveform when somebody opens them.
const RECENT_SECONDS = 86_400

/** Makes the waveforms of new takes in advance, because the list shows them. */
export const waveformRunner = (waveforms: WaveformStore, making: Waveforms): Runner => ({
  name: 'waveforms',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick(now) {
    const bare = waveforms.bare(isoPlus(now, -RECENT_SECONDS), BATCH)
    for (const file of bare) making.prepare(file)
    return { wanted: bare.length }
  },
})
