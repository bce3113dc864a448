import { createHash, type Hash } from 'node:crypto'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { frameBytes, type WavHead, wavFormat, wavHeader, wavHeadSteps } from '../../../kernel/wav.rules.ts'
import { type AudioFile, type AudioFormat, formatOf } from '../../../system/host/audio.ts'
import { input, listOf, QUIETLY, runTool } from '../../../system/host/ffmpeg.ts'
import type { Codec } from '../../../wire/profiles.ts'

interface Joining {
  codec: Codec
  /** The encoder settings of the job. */
  encoder: { kbps: number; vbr: boolean }
  ffmpegCommand: string
  /** Absolute paths, in order; all in one directory of their own. */
  files: readonly string[]
  /** Where the joined file is written: a name nobody else uses. */
  part: string
  signal: AbortSignal
  /** Longest time for each run of ffmpeg, ms. */
  timeoutMs: number
}

export interface Joined {
  /** Every sample is unchanged, so the sources are no longer needed. */
  exact: boolean
  /** Hex. */
  sha256: string
  size: number
}

type WavFile = WavHead & { dataBytes: number }

const STEP = 1024 * 1024

/**
 * Joins the files into one that any player opens: WAV sample for sample, FLAC and MP3 decoded and encoded again, because a copy
 * of their frames would have wrong lengths and a gap at every seam. The file is on disk when this resolves.
 * @throws Error with a message for the operator; nothing is left of the file then.
 */
export async function joinFiles(joining: Joining): Promise<Joined> {
  const scratch: string[] = [joining.part]
  try {
    if (!uniform(joining)) return await joinMixed(joining, scratch)
    if (joining.codec !== 'wav') return await joinEncoded(joining, joining.files, joining.part)
    const wavs = await Promise.all(joining.files.map(readWav))
    return sameLayout(wavs) ? await joinWavs(joining, joining.files, wavs) : await joinMixed(joining, scratch)
  } catch (e) {
    for (const file of scratch) await fs.rm(file, { force: true })
    throw e
  }
}

const uniform = ({ codec, files }: Joining): boolean => files.every((file) => file.endsWith(`.${codec}`))
const sameLayout = (wavs: readonly WavFile[]): boolean => new Set(wavs.map(({ fmt }) => layoutOf(fmt))).size === 1
/** Files with the same layout can be joined without conversion. */
const layoutOf = (fmt: Buffer): string => JSON.stringify([wavFormat(fmt), frameBytes(fmt)])

/** Where the samples of a WAV file are; with an unfinished header they extend to the end of the file. */
export async function readWav(file: string): Promise<WavFile> {
  const handle = await fs.open(file)
  try {
    const { size } = await handle.stat()
    const bytes = async (at: number, length: number) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, at)
      return buffer.subarray(0, bytesRead)
    }
    const steps = wavHeadSteps()
    let step = steps.next()
    while (!step.done) step = steps.next(await bytes(...step.value))
    if (!step.value) throw new Error(`${path.basename(file)} is not a WAV file, or has no samples`)
    return samples(step.value, size)
  } finally {
    await handle.close()
  }
}

function samples({ dataBytes: declared, dataOffset, fmt }: WavHead, size: number): WavFile {
  const frame = frameBytes(fmt)
  if (frame === 0) throw new Error('the format of the WAV file cannot be read')
  const available = size - dataOffset
  // A length of 0 or beyond the end of the file was never completed by its writer.
  const dataBytes = declared === undefined || declared === 0 || declared > available ? available : declared
  return { dataBytes: dataBytes - (dataBytes % frame), dataOffset, fmt }
}

async function joinWavs(
  { part, signal }: Joining,
  files: readonly string[],
  wavs: readonly WavFile[],
): Promise<Joined> {
  const dataBytes = wavs.reduce((sum, wav) => sum + wav.dataBytes, 0)
  const out = await fs.open(part, 'w')
  const hash = createHash('sha256')
  let size = 0
  const write = async (bytes: Uint8Array) => {
    hash.update(bytes)
    for (let at = 0; at < bytes.length; ) at += (await out.write(bytes, at, bytes.length - at, size + at)).bytesWritten
    size += bytes.length
  }
  try {
    await write(wavHeader((wavs[0] as WavFile).fmt, dataBytes))
    for (const [i, wav] of wavs.entries())
      await eachStep(files[i] as string, wav.dataOffset, wav.dataBytes, signal, write)
    if (dataBytes % 2) await write(Buffer.alloc(1))
    await out.sync()
  } finally {
    await out.close()
  }
  return { exact: true, sha256: hash.digest('hex'), size }
}

/** Passes a range of a file to `take`, one buffer at a time. */
async function eachStep(
  file: string,
  from: number,
  length: number,
  signal: AbortSignal,
  take: (bytes: Uint8Array) => void | Promise<void>,
): Promise<void> {
  const handle = await fs.open(file)
  const buffer = Buffer.allocUnsafe(Math.min(STEP, Math.max(length, 1)))
  try {
    for (let at = 0; at < length; ) {
      signal.throwIfAborted()
      const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, length - at), from + at)
      if (bytesRead === 0) throw new Error(`${path.basename(file)} became shorter while it was read`)
      await take(buffer.subarray(0, bytesRead))
      at += bytesRead
    }
  } finally {
    await handle.close()
  }
}

/** Joins through ffmpeg's concat demuxer, which reads the names from a file next to the chunks. */
async function joinEncoded(joining: Joining, files: readonly string[], part: string): Promise<Joined> {
  const dir = path.dirname(files[0] as string)
  const list = path.join(dir, `${path.basename(part)}.txt`)
  const names = files.map((file) => path.basename(file))
  await fs.writeFile(list, listOf(names, joining.codec))
  try {
    await encode(joining, [...input.list(list, joining.codec), ...SOUND, ...encoderArgs(joining), part])
  } finally {
    await fs.rm(list, { force: true })
  }
  // FLAC is lossless: ffmpeg encodes exactly what it decoded.
  return { ...(await hashed(part, joining.signal)), exact: joining.codec === 'flac' }
}

/** Joins chunks of different formats (as a crash may leave them): each is converted to the format of the first. */
async function joinMixed(joining: Joining, scratch: string[]): Promise<Joined> {
  const { codec, files, part } = joining
  const plain: string[] = []
  let like = await depthOf(files[0] as string)
  for (const [i, file] of files.entries()) {
    const wav = `${part}.${i}.wav`
    scratch.push(wav)
    const decoded = ['-f', 'wav', '-rf64', 'auto', wav]
    await encode(joining, [...input.file(await known(file)), ...SOUND, ...like, ...decoded])
    if (i === 0) like = likeness(await readWav(wav))
    plain.push(wav)
  }
  const whole = codec === 'wav' ? part : `${part}.all.wav`
  scratch.push(whole)
  const joined = await joinWavs({ ...joining, part: whole }, plain, await Promise.all(plain.map(readWav)))
  const wav = input.file({ file: whole, format: 'wav' })
  if (codec !== 'wav') await encode(joining, [...wav, ...encoderArgs(joining), part])
  for (const file of scratch.filter((name) => name !== part)) await fs.rm(file, { force: true })
  return { ...(codec === 'wav' ? joined : await hashed(part, joining.signal)), exact: false }
}

async function known(file: string): Promise<AudioFile> {
  const format: AudioFormat | undefined = await formatOf(file)
  if (!format) throw new Error(`${path.basename(file)} is not a WAV, FLAC or MP3 file`)
  return { file, format }
}

const SOUND = ['-map', '0:a:0', '-vn', '-map_metadata', '-1']

/** Arguments to decode the first file without losing bits. */
async function depthOf(file: string): Promise<string[]> {
  if (file.endsWith('.wav')) return likeness(await readWav(file))
  return ['-c:a', file.endsWith('.flac') ? 'pcm_s24le' : 'pcm_s16le']
}

function likeness({ fmt }: WavFile): string[] {
  const { bits = 16, channels = 0, rate = 0 } = wavFormat(fmt) ?? {}
  const codec = { 24: 'pcm_s24le', 32: 'pcm_s32le' }[bits] ?? 'pcm_s16le'
  return ['-ac', String(channels), '-ar', String(rate), '-c:a', codec]
}

const encode = ({ ffmpegCommand: command, signal, timeoutMs }: Joining, args: readonly string[]) =>
  runTool([...QUIETLY, ...args], { command, signal, timeoutMs })

/** LAME's quality for a bitrate, the same as the recorder's encoder uses. */
const VBR_STEPS = [245, 225, 190, 175, 165, 128, 112, 96, 80]
const quality = (kbps: number): number => VBR_STEPS.filter((step) => kbps < step).length

function encoderArgs({ codec, encoder: { kbps, vbr } }: Joining): string[] {
  if (codec === 'flac') return ['-c:a', 'flac', '-f', 'flac']
  return ['-c:a', 'libmp3lame', ...(vbr ? ['-q:a', String(quality(kbps))] : ['-b:a', `${kbps}k`]), '-f', 'mp3']
}

async function hashed(file: string, signal: AbortSignal): Promise<Omit<Joined, 'exact'>> {
  const handle = await fs.open(file, 'r+')
  const hash: Hash = createHash('sha256')
  const { size } = await handle.stat().finally(async () => {
    await handle.sync()
    await handle.close()
  })
  if (size === 0) throw new Error('ffmpeg wrote nothing')
  await eachStep(file, 0, size, signal, (bytes) => void hash.update(bytes))
  return { sha256: hash.digest('hex'), size }
}
