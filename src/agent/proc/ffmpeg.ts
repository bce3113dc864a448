// What every ffmpeg of the agent has in common: its progress, its last words, and what its end means.
import type { Readable } from 'node:stream'

/** Seconds of audio written so far, from the stream that `-progress` goes to; `onSeconds` hears each figure and the one before. */
export function progressOf(stream: Readable, onSeconds?: (seconds: number, before: number) => void): () => number {
  let seconds = 0
  stream.setEncoding('utf8').on('data', (more: string) => {
    const before = seconds
    for (const [, us] of more.matchAll(/out_time_us=(\d+)/g)) seconds = Number(us) / 1e6
    onSeconds?.(seconds, before)
  })
  return () => seconds
}

/** The last `kept` characters of what a stream says. */
export function lastWords(stream: Readable, kept: number): () => string {
  let said = ''
  stream.setEncoding('utf8').on('data', (more: string) => {
    said = (said + more).slice(-kept)
  })
  return () => said
}

/** A bad end, in its own words. A full disk or quota has the code ENOSPC: it is waited for, so it must be known as one. */
export function badEnd(command: string, end: number | NodeJS.Signals | null, said: string, quoted: number): Error {
  const e = new Error(`${command} failed with ${end}: ${said.trim().slice(-quoted)}`)
  return /No space left on device|Disk quota exceeded/.test(said) ? Object.assign(e, { code: 'ENOSPC' }) : e
}
