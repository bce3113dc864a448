// Output of the log. A reader that blocks (a full pipe, a hung journal, a paused terminal) costs lines, never time.
import * as fs from 'node:fs'
import { isatty } from 'node:tty'
import { type Level, logLine } from './log.ts'

/** Bytes of one write at most. */
const BATCH = 64 * 1024
/** Bytes kept of a full queue. */
const KEPT = 0.75
/** Pause before a failed write is retried, ms. */
const PAUSE_MS = 50

/** The ways out of a program, both for lines of a log. */
export interface Outlets {
  stderr: LogSink
  stdout: LogSink
}

/** How the journal takes a line's level: sd-daemon(3). */
const MARKS: Record<Level, string> = { debug: '<7>', info: '<6>', warn: '<4>', error: '<3>' }

/** Whether what is written to `fd` goes straight to the journal. */
function isJournal(fd: 1 | 2): boolean {
  const { dev, ino } = fs.fstatSync(fd)
  return process.env.JOURNAL_STREAM === `${dev}:${ino}`
}

/** Those of this process. Under systemd each line of a log carries its level. */
export function openOutlets(): Outlets {
  return { stderr: new LogSink(2, { marked: isJournal(2) }), stdout: new LogSink(1, { marked: isJournal(1) }) }
}

/** Queues lines in order; beyond `most` bytes the oldest are dropped and counted. */
export class LogSink {
  readonly #fd: number
  readonly #marked: boolean
  readonly #most: number
  #bytes = 0
  #dropped = 0
  #lines: Buffer[] = []
  #pumping: Promise<void> | undefined

  /** `most`: bytes that may wait for the reader. `marked`: each line of a known level begins with the journal's mark. */
  constructor(fd: 1 | 2, { marked = false, most = 1024 * 1024 } = {}) {
    this.#marked = marked
    this.#fd = unblocked(fd)
    this.#most = most
  }

  /** Returns at once; `line` ends with its newline. */
  write(line: string, level?: Level): void {
    const bytes = Buffer.from(this.#marked && level ? MARKS[level] + line : line)
    this.#lines.push(bytes)
    this.#bytes += bytes.length
    this.#makeRoom()
    this.#pumping ??= this.#pump()
  }

  /** Resolves when everything is written, at the latest after `ms`: for the end of a program. */
  async flush(ms = 1000): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, ms)
    await Promise.race([this.#pumping, late.promise])
    clearTimeout(timer)
  }

  #makeRoom(): void {
    if (this.#bytes <= this.#most) return
    let first = 0
    // A good part at once: the list behind moves up each time.
    while (this.#bytes > this.#most * KEPT) this.#bytes -= this.#lines[first++]!.length
    this.#lines.splice(0, first)
    this.#dropped += first
  }

  async #pump(): Promise<void> {
    while (this.#lines.length > 0) {
      const { count, bytes } = this.#batch()
      if (await this.#put(bytes)) continue
      // No reader, or no space on the disk: these lines are lost, and their number is logged later.
      this.#dropped += count
      await pause()
    }
    this.#pumping = undefined
  }

  /** As many lines as fit into one write, at least one, after a line about lost ones. */
  #batch(): { bytes: Buffer; count: number } {
    let count = 0
    let size = 0
    while (count < this.#lines.length && (count === 0 || size + this.#lines[count]!.length <= BATCH))
      size += this.#lines[count++]!.length
    const lines = this.#lines.splice(0, count)
    this.#bytes -= size
    const lost = this.#dropped
    this.#dropped = 0
    if (lost === 0) return { bytes: Buffer.concat(lines), count }
    const words = logLine('warn', 'lines of this log are missing: it could not be written', { lines: lost })
    const told = Buffer.from(this.#marked ? MARKS.warn + words : words)
    return { bytes: Buffer.concat([told, ...lines]), count: lost + count }
  }

  /** False when it cannot be written at all; waits as long as there is only no room. */
  async #put(bytes: Buffer): Promise<boolean> {
    for (let at = 0; at < bytes.length; ) {
      const written = await tryWrite(this.#fd, bytes, at)
      if (written === undefined) return false
      at += written
      if (written === 0) await pause()
    }
    return true
  }
}

/** Resolves when a stream's reader has everything or is gone. */
export const drained = async (stream: NodeJS.WriteStream): Promise<void> => {
  if (stream.writableLength > 0) await new Promise((resolve) => stream.write('', resolve))
}

// Does not keep the program alive; `flush` waits at the end.
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PAUSE_MS).unref())

/** Bytes written, 0 when the reader is not ready, undefined on failure, which must not end a recording. */
function tryWrite(fd: number, bytes: Buffer, at: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    fs.write(fd, bytes, at, bytes.length - at, null, (error, written) => {
      if (!error) resolve(written)
      else resolve(error.code === 'EAGAIN' || error.code === 'EINTR' ? 0 : undefined)
    })
  })
}

/**
 * A descriptor on which a write does not wait for the reader: a thread that waits cannot be ended, and the process with it
 * not either. Of a pipe and a terminal it is an opening of our own: whether that waits is nobody else's to change (a child
 * that shares the other one does so at its start). A socket cannot be opened anew; Node opens it without waiting.
 */
function unblocked(fd: 1 | 2): number {
  // Reading the property opens it.
  void (fd === 1 ? process.stdout : process.stderr)
  if (!isatty(fd) && !fs.fstatSync(fd).isFIFO()) return fd
  try {
    const { O_NOCTTY, O_NONBLOCK, O_WRONLY } = fs.constants
    return fs.openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    // No /proc, another user's pipe, nobody who reads: then the one we have, as Node opened it.
    return fd
  }
}
