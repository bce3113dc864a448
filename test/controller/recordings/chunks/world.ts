// A take that arrives in chunks: a node with a claimed job, sounds made by ffmpeg, and what the controller says of it.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kit } from '../../../kit/kit.ts'

/** A WAV of 16-bit stereo samples, in the smallest form there is. */
export function wav(samples: Int16Array, rate = 8000, channels = 2): Buffer {
  const data = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + data.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(channels, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * channels * 2, 28)
  head.writeUInt16LE(channels * 2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(data.length, 40)
  return Buffer.concat([head, data])
}

/** Samples that tell their own place. */
export const counted = (from: number, length: number): Int16Array =>
  Int16Array.from({ length }, (_, i) => (from + i) % 30000)

/** A tone of that length, encoded; chunks that follow each other have no seam. */
export function tone(codec: 'flac' | 'mp3', seconds: number): Buffer {
  const dir = mkdtempSync(join(tmpdir(), 'roomtone-tone-'))
  const file = join(dir, `tone.${codec}`)
  const source = ['-f', 'lavfi', '-i', `sine=440:r=48000:d=${seconds}`, '-ac', '2']
  const made = spawnSync('ffmpeg', ['-v', 'error', ...source, file])
  if (made.status !== 0) throw new Error(made.stderr.toString())
  const bytes = readFileSync(file)
  rmSync(dir, { recursive: true })
  return bytes
}

/** Decoded samples (per channel) of a file, and the length its headers tell, seconds. */
export function heard(file: string): { frames: number; seconds: number } {
  const raw = spawnSync('ffmpeg', ['-v', 'error', '-i', file, '-ac', '1', '-f', 's16le', '-'], { maxBuffer: 2 ** 28 })
  const probe = spawnSync('ffprobe', ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file])
  return { frames: raw.stdout.length / 2, seconds: Number(probe.stdout.toString()) }
}

export async function chunked(k: Kit, profile: object = { codec: 'wav' }, start: object = {}) {
  const node = await k.enroll()
  const admin = k.as('admin')
  const made = await admin.post('/settings/recording-profiles', {
    name: 'Chunks',
    enhancement: null,
    chunkSeconds: 5,
    ...profile,
  })
  const begun = await admin.post('/recordings', {
    nodeId: node.id,
    durationSeconds: 60,
    recordingProfileId: made.json.data.id,
    ...start,
  })
  const { data, job } = begun.json
  await node.agent.post(`/nodes/${node.id}/recording-jobs/claim-next`)
  const codec = job.command.outputCodec as string
  const headers = {
    'x-svc-duration-seconds': '5',
    'x-svc-file-name': `take.chunk-0000.${codec}`,
    'x-svc-recording-job-id': job.id,
  }
  const path = `/recordings/${data.id}/cache-file`
  return {
    ...node,
    chunks: async () => (await admin.get(`/recording-jobs/${job.id}/chunks`)).json.data,
    files: () =>
      (existsSync(k.takes) ? readdirSync(k.takes, { recursive: true, withFileTypes: true }) : [])
        .filter((f) => f.isFile())
        .map((f) => join(f.parentPath, f.name).slice(k.takes.length + 1))
        .sort(),
    headers,
    job,
    path,
    /** Uploads a chunk; `index` counts from 0, as on the wire. */
    put: (index: number, bytes: Uint8Array, query = '', more = {}) =>
      node.agent.put(`${path}?chunk=${index}${query}`, bytes, { ...headers, ...more }),
    read: (name: string) => readFileSync(join(k.takes, name)),
    recording: async () => (await admin.get(`/recordings/${data.id}`)).json.data,
    recordingId: data.id as string,
    state: async () => (await admin.get(`/recording-jobs/${job.id}`)).json.data,
  }
}
