import { setTimeout as sleep } from 'node:timers/promises'
import { childrenOf } from '../e2e/processes.ts'
import { allocatorOf } from '../kit/unit.ts'
import type { Row } from './measure.ts'
import { memory } from './programs.ts'
import { arrived, recorder, UNTOUCHED } from './recorder.ts'
import type { Place } from './world.ts'

/** Audio comes so much faster than it would. */
const SPEED = 60

interface Kind {
  enhancement: object
  limit: number
  name: string
  what: string
}

const ON = { enabled: true }
const KINDS: Kind[] = [
  { enhancement: UNTOUCHED, limit: 180, name: 'memory', what: 'mp3, nothing done to the sound' },
  {
    enhancement: { ...UNTOUCHED, highpass: ON, keepRaw: true, loudnorm: ON },
    limit: 180,
    name: 'memory-filters',
    what: 'mp3, high-pass and loudness',
  },
  {
    enhancement: { ...UNTOUCHED, denoise: { ...ON, engine: 'rnnoise' }, highpass: ON, keepRaw: true, loudnorm: ON },
    limit: 180,
    name: 'memory-recurrent',
    what: 'mp3, recurrent denoiser, high-pass and loudness',
  },
  {
    enhancement: {
      ...UNTOUCHED,
      denoise: { ...ON, engine: 'deepfilternet3' },
      highpass: ON,
      keepRaw: true,
      loudnorm: ON,
    },
    limit: 350,
    name: 'memory-deep',
    what: 'mp3, deep denoiser, high-pass and loudness',
  },
]

/** The highest resident size of the agent over the whole way of a long take. */
export async function agentMemory(place: Place): Promise<Row[]> {
  const rows: Row[] = []
  for (const kind of KINDS) rows.push(await peak(place, kind))
  return rows
}

async function peak(place: Place, { enhancement, limit, name, what }: Kind): Promise<Row> {
  const machine = await recorder(place, {
    ...allocatorOf('agent'),
    SVC_ALSA_PROC_ROOT: place.dir,
    SVC_TEST_SOURCE: '1',
  })
  const pid = machine.agent.pid!
  const { node, world } = machine
  const helpers = { peak: 0 }
  let over = false
  try {
    const device = await machine.device('test:tone')
    await world.call('PATCH', `/nodes/${node.id}/interfaces/${device}`, { systemRef: `test:speed=${SPEED}` })
    const wish = { captureInterfaceId: device, durationSeconds: Math.round(place.hours * 3600) }
    const from = performance.now()
    const taken = await machine.record(wish, { codec: 'mp3', enhancement })
    const watching = watch(pid, helpers, () => over)
    const enhanced = enhancement !== UNTOUCHED
    const there = await arrived(machine, taken, (r) => (enhanced ? r.rawCachePath && r.cached : r.cached))
    const minutes = (performance.now() - from) / 60_000
    over = true
    await watching
    if (enhanced && !there.enhancedCachePath) throw new Error('there is no enhanced rendition')
    return {
      name,
      measured: memory.peak(pid),
      limit,
      unit: 'MiB',
      bound: 'most',
      how: `VmHWM of the agent, stereo take of ${place.hours} h at ${SPEED} times its speed: ${what}; ${minutes.toFixed(1)} min in all, its ffmpegs ${helpers.peak.toFixed(0)} MiB at most`,
    }
  } finally {
    over = true
    await machine.stop()
  }
}

/** The programs the agent runs, together. */
async function watch(pid: number, seen: { peak: number }, over: () => boolean): Promise<void> {
  for (; !over(); await sleep(200)) {
    const sizes = childrenOf(pid).map((child) => {
      try {
        return memory.resident(child)
      } catch {
        return 0 // it ended this moment
      }
    })
    seen.peak = Math.max(
      seen.peak,
      sizes.reduce((a, b) => a + b, 0),
    )
  }
}
