// What an agent owned up to: the gaps of a take as its log tells them, and as they are kept with the recording.
import assert from 'node:assert/strict'
import type { Recording } from '../../src/wire/recordings.ts'
import type { Agent, Controller } from '../kit/whole.ts'
import { assertTold, type Heard, RATE } from './signal.ts'
import type { Gap } from './sound.ts'

/** `late`: nothing but the clock noticed it. That of a JACK graph on a busy machine stands still for a while. */
export type LoggedGap = Gap & { late: boolean }

/** By the log; in frames of the capture, of which the job may be a later part. In their order. */
export function gapsInLog(agent: Agent, jobId: string): LoggedGap[] {
  const gaps = agent
    .events()
    .filter(({ details, type }) => details.jobId === jobId && /\.capture_(overrun|device_recovered)$/.test(type))
    .map(({ details }) => ({ ...(details as unknown as Gap), late: details.noticedBy === 'clock' }))
  // A device that came back before the first frame left no gap.
  return gaps.filter(({ atFrame }) => atFrame !== undefined).sort((a, b) => a.atFrame - b.atFrame)
}

/** By what is kept with the rendition; in frames of the take. */
export const gapsKept = ({ renditions }: Recording, rendition: 'primary' | 'raw' = 'primary'): Gap[] =>
  (renditions?.[rendition]?.gaps ?? []).map(({ atSeconds, seconds }) => ({
    atFrame: Math.round(atSeconds * RATE),
    seconds,
  }))

/** Every silence that is heard is kept with the recording, and the log had a word about each. */
export function assertOwnedUp(agent: Agent, jobId: string, recording: Recording, heard: Heard): void {
  const [kept, logged] = [gapsKept(recording), gapsInLog(agent, jobId)]
  assertTold(heard, kept, `${recording.id}, its details`)
  for (const { seconds } of kept) {
    // A take that ended or began in a gap has a part of it.
    const covers = (gap: Gap) => gap.seconds > seconds - 1 / RATE
    assert.ok(logged.some(covers), `${recording.id}: no word about ${seconds} s in ${JSON.stringify(logged)}`)
  }
}

/** How long after `since` (Unix ms) the agent had found what was left of the take, ms: of a busy machine that may be seconds. */
export function backAfter(agent: Agent, jobId: string, since: number): number | undefined {
  const found = agent
    .events()
    .find(({ details, type }) => details.jobId === jobId && type.endsWith('.recovered_after_restart'))
  return found && Date.parse((found as unknown as { openedAt: string }).openedAt) - since
}

/** What of `lines` is there more often than in `others`. */
export function beyond(lines: string[], others: string[]): string[] {
  const left = [...others]
  return lines.filter((line) => {
    const at = left.indexOf(line)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

const PAGE = 500

/** Every event a node told its controller: when it was opened, and its type. */
export async function toldTo(controller: Controller, nodeId: string): Promise<string[]> {
  // By id: one that comes between two pages moves a row from the first onto the second.
  const told = new Map<string, string>()
  for (let offset = 0; ; offset += PAGE) {
    const query = `nodeId=${nodeId}&limit=${PAGE}&offset=${offset}`
    const rows: { id: string; openedAt: string; type: string }[] = await controller.get(`/health-events?${query}`)
    for (const { id, openedAt, type } of rows) told.set(id, `${openedAt} ${type}`)
    if (rows.length < PAGE) return [...told.values()]
  }
}
