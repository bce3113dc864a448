import * as fs from 'node:fs'
import * as path from 'node:path'
import * as z from 'zod'
import type { Capabilities } from './alsa.rules.ts'

/** Known capabilities of devices, for when they are in use and cannot be probed. */
export interface Remembered {
  /** Whether this process has probed the device already. */
  fresh(key: string): boolean
  get(key: string): Capabilities | undefined
  set(key: string, capabilities: Capabilities): void
}

const Stored = z.record(
  z.string(),
  z
    .object({ channelCount: z.number().int().min(1).max(256), sampleRates: z.array(z.number().int().positive()) })
    .partial(),
)
const MAX_DEVICES = 256

function load(file: string): Map<string, Capabilities> {
  try {
    return new Map(Object.entries(Stored.parse(JSON.parse(fs.readFileSync(file, 'utf8')))) as [string, Capabilities][])
  } catch {
    // Missing or damaged: the devices are probed again.
    return new Map()
  }
}

/** Kept in `file` if given; failing to write it only costs another probe. */
export function createRemembered(file?: string): Remembered {
  const known = file === undefined ? new Map<string, Capabilities>() : load(file)
  const asked = new Set<string>()
  const save = () => {
    if (file === undefined) return
    try {
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(`${file}.new`, JSON.stringify(Object.fromEntries(known)))
      fs.renameSync(`${file}.new`, file)
    } catch {
      // Read-only or full disk: kept in memory.
    }
  }
  return {
    fresh: (key) => asked.has(key),
    get: (key) => known.get(key),
    set: (key, capabilities) => {
      asked.add(key)
      if (known.size >= MAX_DEVICES) known.delete(known.keys().next().value as string)
      known.set(key, capabilities)
      save()
    },
  }
}
