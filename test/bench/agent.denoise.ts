// What enhancement costs: each engine alone, and the whole way of a take, on one core.
import { execFile } from 'node:child_process'
import * as path from 'node:path'
import { promisify } from 'node:util'
import { DENOISERS } from '../../src/wire/profiles.ts'
import type { Enhancing } from './agent.denoise.child.ts'
import type { Row } from './measure.ts'
import type { Place } from './world.ts'

const CHILD = path.resolve(import.meta.dirname, 'agent.denoise.child.ts')
/** CPU seconds per second of audio. */
const LIMITS = { deepfilternet3: 0.08, rnnoise: 0.035 }
const HOUR_MINUTES = 10

/** In a process of its own, held on one core together with its children. */
async function measured(dir: string, engine: string, seconds: number): Promise<Enhancing> {
  const args = ['-c', '0', process.execPath, CHILD, engine, String(seconds), dir]
  return JSON.parse((await promisify(execFile)('taskset', args)).stdout) as Enhancing
}

export async function denoise({ dir, hours }: Place): Promise<Row[]> {
  const rows: Row[] = []
  for (const engine of DENOISERS) {
    const seconds = hours * 3600
    const short = await measured(dir, engine, seconds / 4)
    const long = await measured(dir, engine, seconds)
    const how = `mono mp3 of a stereo take of ${(seconds / 60).toFixed(0)} min`
    const common = { bound: 'most', how } as const
    rows.push(
      {
        ...common,
        name: `denoise-${engine}`,
        measured: long.engineCpu,
        limit: LIMITS[engine],
        unit: 's/s',
        how: 'CPU of the engine, one minute of audio',
      },
      {
        ...common,
        name: `enhance-${engine}`,
        measured: long.cpu / hours / 60,
        limit: HOUR_MINUTES,
        unit: 'min/h',
        how: `CPU of process and children, whole chain, ${how}, scaled to an hour; ${(long.wall / 60).toFixed(1)} min passed on one core`,
      },
      {
        ...common,
        name: `growth-${engine}`,
        measured: Math.max(1, long.peakMiB - short.peakMiB),
        limit: 24,
        unit: 'MiB',
        how: `peak memory beyond that of a quarter of the take (${short.peakMiB.toFixed(0)} MiB, from the sources)`,
      },
    )
  }
  return rows
}
