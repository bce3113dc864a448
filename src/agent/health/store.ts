// The health log on disk: one JSON event per line, rotated by size, read back in order.
import * as fsp from 'node:fs/promises'
import * as path from 'node:path'
import type * as z from 'zod'
import { AgentHealthEvent } from '../../wire/nodes.ts'

const Stored = AgentHealthEvent.required({ id: true, openedAt: true })
export type StoredEvent = z.infer<typeof Stored>

interface StoreOptions {
  file: string
  /** 0 = never rotate. */
  maxBytes: number
  /** 0 = a full file is deleted instead of kept. */
  retainedFiles: number
}

export interface HealthStore {
  append(events: StoredEvent[]): Promise<void>
  /** Up to `limit` events after the one with this number, in order. */
  after(counter: number, limit: number): Promise<StoredEvent[]>
  close(): Promise<void>
  /** Number of the last event on disk, 0 when there is none. */
  open(): Promise<number>
}

/** The number at the end of an event's id: events are ordered by it for the whole life of the log. */
export const counterOf = (event: { id: string }): number => Number(/_(\d+)$/.exec(event.id)?.[1] ?? Number.NaN)

function parseLine(line: string): StoredEvent | undefined {
  try {
    const event = Stored.parse(JSON.parse(line))
    return Number.isNaN(counterOf(event)) ? undefined : event
  } catch {
    // A line torn by a power cut, or written by another version: the rest of the log still counts.
    return undefined
  }
}

const isAbsent = (e: unknown): boolean => (e as NodeJS.ErrnoException).code === 'ENOENT'

const nameOf = (file: string, n: number): string => (n === 0 ? file : `${file}.${n}`)

async function rotate({ file, retainedFiles }: StoreOptions): Promise<void> {
  if (retainedFiles === 0) return fsp.rm(file, { force: true })
  for (let n = retainedFiles - 1; n >= 0; n--)
    await fsp.rename(nameOf(file, n), nameOf(file, n + 1)).catch((e) => {
      // Gaps are normal while the log is young.
      if (!isAbsent(e)) throw e
    })
}

interface LogFile {
  file: string
  ino: number
}

/** Files from the oldest to the active one. */
async function logFiles({ file, retainedFiles }: StoreOptions): Promise<LogFile[]> {
  const found: LogFile[] = []
  for (let n = retainedFiles; n >= 0; n--) {
    const stat = await fsp.stat(nameOf(file, n)).catch(() => undefined)
    if (stat) found.push({ file: nameOf(file, n), ino: stat.ino })
  }
  return found
}

/** Whole lines of one file from an offset: at most 64 KiB, or one longer line. */
async function readLines(file: string, offset: number): Promise<{ lines: string[]; bytes: number }> {
  const handle = await fsp.open(file, 'r')
  try {
    for (let length = 65_536; ; length *= 4) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, offset)
      const end = buffer.subarray(0, bytesRead).lastIndexOf(10)
      if (end >= 0) return { lines: buffer.toString('utf8', 0, end).split('\n'), bytes: end + 1 }
      if (bytesRead < length) return { lines: [], bytes: 0 }
    }
  } finally {
    await handle.close()
  }
}

async function lastCounter(options: StoreOptions): Promise<number> {
  for (const { file } of (await logFiles(options)).reverse()) {
    const events = (await fsp.readFile(file, 'utf8')).split('\n').flatMap((line) => parseLine(line) ?? [])
    if (events.length > 0) return events.reduce((most, event) => Math.max(most, counterOf(event)), 0)
  }
  return 0
}

async function open(options: StoreOptions): Promise<number> {
  await fsp.mkdir(path.dirname(options.file), { recursive: true })
  return lastCounter(options)
}

async function append(options: StoreOptions, events: StoredEvent[]): Promise<void> {
  const { file, maxBytes } = options
  const stat = await fsp.stat(file).catch(() => undefined)
  if (stat && maxBytes > 0 && stat.size >= maxBytes) await rotate(options)
  const handle = await fsp.open(file, 'a+', 0o640)
  try {
    const { size } = await handle.stat()
    const lines = events.map((event) => `${JSON.stringify(event)}\n`)
    if (await isTorn(handle, size)) lines.unshift('\n')
    // What a full disk took of them would pass for written, and its last line would swallow the next event.
    await handle.appendFile(lines.join('')).catch(async (e) => {
      await handle.truncate(size).catch(() => undefined)
      throw e
    })
  } finally {
    await handle.close()
  }
}

/** Whether the last line has no end: torn by a power cut, or by a disk that was full. */
async function isTorn(handle: fsp.FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] !== 10
}

/** Reads on from where it stopped, in the same file even after a rotation renamed it. */
function createReader(options: StoreOptions): HealthStore['after'] {
  let position = { ino: -1, offset: 0 }
  return async (counter, limit) => {
    const list = await logFiles(options)
    const known = list.findIndex((f) => f.ino === position.ino)
    let offset = known < 0 ? 0 : position.offset
    for (let at = Math.max(0, known); at < list.length; ) {
      const { file, ino } = list[at] as LogFile
      const { lines, bytes } = await readLines(file, offset)
      const found = lines.flatMap((line) => parseLine(line) ?? []).filter((event) => counterOf(event) > counter)
      if (found.length > 0) {
        // The position stays before this block until all of it is delivered.
        position = { ino, offset }
        return found.slice(0, limit)
      }
      offset = bytes > 0 ? offset + bytes : 0
      if (bytes === 0) at++
      else position = { ino, offset }
    }
    return []
  }
}

export function createHealthStore(options: StoreOptions): HealthStore {
  const after = createReader(options)
  // One at a time: reading must not overlap with a rotation.
  let queue: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = queue.then(work)
    queue = turn.catch(() => undefined)
    return turn
  }
  return {
    append: (events) => inTurn(() => append(options, events)),
    after: (counter, limit) => inTurn(() => after(counter, limit)),
    // Files are opened for each turn.
    close: () => inTurn(async () => undefined),
    open: () => inTurn(() => open(options)),
  }
}
