// A database made of manifests. usage: node test/bench/rebuild.ts PROGRAM DIR [--takes N]
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { parseArgs } from 'node:util'
import type { TakeManifest } from '../../src/wire/manifests.ts'
import type { Row } from './measure.ts'
import type { Place } from './world.ts'

// A tenth of the million is enough to see what each costs; a million is made by hand.
const TAKES = 20_000
const MILLION = 1_000_000
const LIMIT_SECONDS = 600
const SUBJECTS = [
  'Algebra',
  'Anatomie',
  'Botanik',
  'Chemie',
  'Didaktik',
  'Ethik',
  'Musik',
  'Physik',
  'Qualität',
  '日本語',
]
const NODES = 500

const manifestOf = (n: number, id: string, file: string): TakeManifest => {
  const at = new Date(1_600_000_000_000 + n * 150_000).toISOString()
  const [subject, node] = [SUBJECTS[n % SUBJECTS.length] as string, n % NODES]
  const checksum = `sha256:${n.toString(16).padStart(64, '0')}`
  const capture = { channels: 2, format: 'S16_LE', sampleRate: 48_000 }
  return {
    version: 1,
    writtenAt: at,
    file: { checksum, rendition: 'primary' },
    capture: { channels: [1, 2], interfaceId: `interface-${node}`, interfaceName: 'Lectern' },
    node: { id: `node_${node}`, alias: `Recorder ${node}`, site: node % 2 ? 'North' : 'South', room: `Hall ${node}` },
    room: { id: `room_${node}`, site: node % 2 ? 'North' : 'South', name: `Hall ${node}` },
    recording: {
      ...{
        id,
        name: `${subject} lecture ${n % 1000}`,
        folder: `Scheduled/${subject}`,
        source: 'schedule',
        status: 'cached',
      },
      ...{
        healthStatus: 'healthy',
        recordedAt: at,
        durationSeconds: 5400,
        nodeId: `node_${node}`,
        roomId: `room_${node}`,
      },
      ...{ recordingProfileId: 'voice-mp3-vbr', retentionPolicyId: 'retention-keep-controller-cache' },
      ...{ tags: ['lecture', subject], uploadPolicyIds: [] },
    },
    renditions: [
      {
        ...{ rendition: 'primary', path: file, checksum, sizeBytes: 1_000_000 + n, mimeType: 'audio/mpeg' },
        ...{ durationSeconds: 5400, joined: false, storedAt: at, details: { capture, gapCount: 0 } },
      },
    ],
    schedule: { id: `sched_${n % 200}`, name: subject },
  }
}

/** Takes without blocks on the disk, and their manifests, below a data directory. */
export function makeTakes(data: string, takes: number): void {
  const dir = path.join(data, 'recordings', 'scheduled')
  fs.mkdirSync(dir, { recursive: true })
  for (let n = 0; n < takes; n++) {
    const hex = ((n * 2_654_435_761) >>> 0).toString(16).padStart(8, '0')
    const id = `rec_${hex}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`
    const file = path.join(dir, `${id}.mp3`)
    fs.closeSync(fs.openSync(file, 'w'))
    fs.truncateSync(file, 1_000_000 + n)
    fs.writeFileSync(`${file}.roomtone.json`, JSON.stringify(manifestOf(n, id, `scheduled/${id}.mp3`)))
  }
}

interface Measured {
  cpuSeconds: number
  peakMiB: number
  seconds: number
}

/** Runs the program to its end. @throws Error when it does not find every take */
function measured(program: string[], data: string, takes: number): Measured {
  const from = performance.now()
  const timed = ['-f', '%U %S %M', '-o', path.join(data, 'time'), ...program, 'rebuild']
  const { status, stderr, stdout } = spawnSync('/usr/bin/time', timed, {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SVC_DATA_DIR: data },
    maxBuffer: 64 * 1024 * 1024,
  })
  const seconds = (performance.now() - from) / 1000
  if (status !== 0 || !stdout.includes(`${takes} takes found; 0 manifests damaged; 0 files without manifest`))
    throw new Error(`rebuild: ${status}, ${stdout.slice(-500)} ${stderr.slice(-500)}`)
  const [user = 0, system = 0, kib = 0] = fs.readFileSync(path.join(data, 'time'), 'utf8').trim().split(' ').map(Number)
  return { cpuSeconds: user + system, peakMiB: kib / 1024, seconds }
}

export async function rebuild({ dir, roomtone }: Place): Promise<Row[]> {
  const data = fs.mkdtempSync(path.join(dir, 'rebuild-'))
  makeTakes(data, TAKES)
  const { cpuSeconds, peakMiB } = measured([roomtone], data, TAKES)
  const how = `seconds of a core, from ${TAKES} manifests; ${peakMiB.toFixed(0)} MiB at most`
  const each = (cpuSeconds * MILLION) / TAKES
  return [{ name: 'rebuild, a million takes', measured: each, limit: LIMIT_SECONDS, unit: 's', bound: 'most', how }]
}

if (import.meta.filename === process.argv[1]) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { takes: { type: 'string', default: String(MILLION) } },
  })
  const [program, data] = positionals
  const takes = Number(values.takes)
  if (!program || !data || !(takes > 0)) throw new Error('usage: rebuild.ts PROGRAM DIR [--takes N]')
  if (!fs.existsSync(path.join(data, 'recordings'))) makeTakes(data, takes)
  for (const suffix of ['', '-wal', '-shm']) fs.rmSync(path.join(data, `roomtone.db${suffix}`), { force: true })
  console.log(measured(program.split(' '), data, takes))
}
