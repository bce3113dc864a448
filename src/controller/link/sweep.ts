import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { removeFiles } from '../edge/files.ts'
import { INCOMING } from '../edge/parts.ts'

// A part of an interrupted upload waits this long for its sender.
const KEEP_MS = 14 * 24 * 3600 * 1000

/** At start: temporary files of plain uploads end at once, parts of resumable ones when nobody came back for them. */
export async function sweepIncoming(takes: string, now: number = performance.timeOrigin): Promise<number> {
  const dir = path.join(takes, INCOMING)
  await fs.mkdir(dir, { recursive: true, mode: 0o750 })
  let swept = 0
  for (const name of await fs.readdir(dir)) {
    const file = path.join(dir, name)
    const resumable = name.startsWith('rec_')
    if (resumable && now - (await fs.stat(file)).mtimeMs < KEEP_MS) continue
    await removeFiles(takes, [path.join(INCOMING, name)])
    swept++
  }
  return swept
}
