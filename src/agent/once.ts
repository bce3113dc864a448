// What the agent does once, by hand: a recording without a job, a file for a recording, the channel maps of the node.

import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../kernel/clock.ts'
import { makeDir } from '../kernel/dirs.ts'
import { sizeOf } from '../kernel/durable.ts'
import { misuse } from '../kernel/fail.ts'
import type { Log } from '../kernel/log.ts'
import { formatOf } from '../system/host/audio.ts'
import { probing, startTool } from '../system/host/ffmpeg.ts'
import { firstWords } from '../system/host/run.ts'
import { type AgentJob, CONTENT_TYPES } from '../wire/recordings.ts'
import { wavFrameBytes } from './audio/wav.rules.ts'
import { readWav } from './audio/wav.ts'
import type { AgentConfig } from './config.ts'
import { createJobRunner } from './jobs/runner.ts'
import { type Link, LinkError, type Upload } from './link/link.ts'
import { liveJobSettings, openLink } from './parts.ts'
import { backoffMs } from './proc/bell.ts'
import { lockDirectory } from './proc/lock.ts'

const UPLOAD_ATTEMPTS = 5
const RETRY_MAX_MS = 30_000
const FALLBACK_TYPE = 'audio/mpeg'

/** The link of a mode that needs the node's token. @throws UserError when there is none */
function linkWithToken(config: AgentConfig, mode: string): Link {
  const token = config.controllerToken.read()
  if (!token) throw misuse(`--${mode} needs a node token: set SVC_CONTROLLER_TOKEN or pass --controller-token-file`)
  return openLink(config, () => token)
}

/** The channel maps assigned to this node, as the controller tells them. Throws LinkError. */
export async function channelMapAssignments(config: AgentConfig): Promise<unknown[]> {
  const link = linkWithToken(config, 'print-channel-map-assignments')
  try {
    return await link.channelMapAssignments()
  } finally {
    link.close()
  }
}

/** Uploads a file as the recording's own. Throws LinkError when the controller does not take it; an abort throws. */
export async function attachFile(config: AgentConfig, log: Log, signal: AbortSignal): Promise<void> {
  const file = await fileToAttach(config)
  const link = linkWithToken(config, 'attach-cache-file')
  try {
    await uploadPatiently(link, file, log, signal)
    log.info('file attached', { durationSeconds: file.durationSeconds, recordingId: file.recordingId })
  } finally {
    link.close()
  }
}

/** @throws UserError when something is missing that only a person can say */
async function fileToAttach({ childEnv, settings }: AgentConfig): Promise<Upload> {
  const { attachCacheFile, attachCacheRecordingId: recordingId } = settings
  if (!attachCacheFile || !recordingId)
    throw misuse('--attach-cache-file and --attach-cache-recording-id must be given together')
  const file = path.resolve(attachCacheFile)
  if (!((await sizeOf(file)) ?? 0)) throw misuse(`${file} is missing or empty`)
  const extension = path.extname(file).slice(1).toLowerCase()
  const byExtension = Object.entries(CONTENT_TYPES).find(([codec]) => codec === extension)?.[1]
  const probe = settings.renderCommand.replace(/ffmpeg$/, 'ffprobe')
  return {
    contentType: settings.attachCacheContentType ?? byExtension ?? FALLBACK_TYPE,
    durationSeconds: settings.attachCacheDurationSeconds ?? (await durationOf(file, probe, childEnv)),
    fileName: settings.attachCacheFileName ?? path.basename(file),
    path: file,
    recordingId,
  }
}

const PROBE_MS = 10_000
/** Seconds of audio in a file. @throws UserError when they cannot be measured */
async function durationOf(file: string, probe: string, env: NodeJS.ProcessEnv): Promise<number> {
  const wav = await readWav(file)
  if (wav) return wav.dataBytes / wavFrameBytes(wav) / wav.rate
  const format = await formatOf(file)
  if (!format) throw misuse(`${file} is not a WAV, FLAC or MP3 file: the controller accepts no other format`)
  const args = probing({ file, format }, 'format=duration', 'default=noprint_wrappers=1:nokey=1')
  const tool = startTool(args, { command: probe, env, progress: false, timeoutMs: PROBE_MS })
  const said = firstWords(tool.stdout, 100)
  await tool.ended.catch(() => {})
  const seconds = Number.parseFloat(said())
  if (!Number.isFinite(seconds))
    throw misuse(`cannot measure the length of ${file}: pass --attach-cache-duration-seconds`)
  return seconds
}

async function uploadPatiently(link: Link, file: Upload, log: Log, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await link.upload(file, signal)
    } catch (e) {
      signal.throwIfAborted()
      if (!(e instanceof LinkError) || !e.transient || attempt >= UPLOAD_ATTEMPTS) throw e
      log.warn('upload failed: retrying', { attempt, error: e.message })
      await sleep(backoffMs(attempt, RETRY_MAX_MS, Math.random()), undefined, { signal })
    }
  }
}

/**
 * Records without a job and uploads; true when the controller took it. Takes of earlier runs that were cut off are
 * delivered first. An abort finalizes the take and gives its upload the usual grace; what is left waits for another run.
 * @throws UserError, LinkError, what the disk throws
 */
export async function captureOnce(config: AgentConfig, log: Log, signal: AbortSignal): Promise<boolean> {
  const { captureOutput, captureRecordingId, agentDir } = config.settings
  const link = linkWithToken(config, 'capture-recording-id')
  const workDir = path.join(agentDir, 'once')
  makeDir(workDir)
  const lock = await lockDirectory(workDir)
  const delivered = jobless(link, captureOutput && path.resolve(captureOutput))
  const runner = createJobRunner({
    childEnv: config.childEnv,
    clock: systemClock,
    link: delivered.link,
    log,
    report: ({ details, severity, type }) => log[severity === 'info' ? 'info' : 'warn'](type, details),
    settings: liveJobSettings(config).live,
    workDir,
  })
  const stopped = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => runner.stop().then(stopped.resolve, stopped.reject), { once: true })
  try {
    await runner.recover()
    await runner.accept([ownJob(config, captureRecordingId!)])
    await (signal.aborted ? stopped.promise : Promise.race([runner.idle(), stopped.promise]))
    return delivered.accepted.has(captureRecordingId!)
  } finally {
    lock.close()
    link.close()
  }
}

/** Which recordings without a job have their file. */
interface Delivered {
  accepted: Set<string>
  link: Link
}

/**
 * A controller's side for a take that has no job there: answers for the job here, uploads without naming one.
 * `copyTo`: gets a copy of what is uploaded.
 */
function jobless(link: Link, copyTo: string | undefined): Delivered {
  const delivered: Delivered = { accepted: new Set(), link: { ...link } }
  const answer = async (id: string) => ({ ...WANTED, id })
  Object.assign(delivered.link, {
    jobHeartbeat: answer,
    readJob: answer,
    reportCancelled: async () => undefined,
    reportFailed: async () => undefined,
    upload: async ({ jobId: _, ...file }: Upload, signal: AbortSignal) => {
      if (copyTo !== undefined && file.rendition !== 'raw') await fs.copyFile(file.path, copyTo)
      await link.upload(file, signal)
      delivered.accepted.add(file.recordingId)
    },
  } satisfies Partial<Link>)
  return delivered
}

/** The answer about a job that nobody ends but this process: of it, only the status is looked at. */
const WANTED: Omit<AgentJob, 'id'> = {
  command: {
    captureChannels: 1,
    captureDevice: 'default',
    captureFormat: 'S16_LE',
    captureSampleRate: 48_000,
    durationSeconds: 1,
    outputFileName: 'take.wav',
  },
  nodeId: '',
  recordingId: '',
  status: 'running',
}

/** The take that was asked for by hand. Its id is new each time; an earlier one that was cut off is delivered first. */
function ownJob({ settings }: AgentConfig, recordingId: string): AgentJob {
  const { captureOutput, captureOutputCodec } = settings
  const fileName = captureOutput ? path.basename(captureOutput) : `${recordingId}.${captureOutputCodec ?? 'wav'}`
  return {
    command: {
      captureBackend: settings.captureBackend,
      captureChannels: settings.captureChannels,
      captureDevice: settings.captureDevice,
      captureFormat: settings.captureFormat,
      captureSampleRate: settings.captureSampleRate,
      durationSeconds: settings.captureSeconds,
      outputBitrateKbps: settings.captureOutputBitrateKbps,
      ...(captureOutputCodec ? { outputCodec: captureOutputCodec } : {}),
      outputFileName: fileName,
      outputVbr: settings.captureOutputVbr,
    },
    id: `once_${recordingId}_${systemClock.now().toString(36)}`,
    nodeId: settings.nodeId,
    recordingId,
    status: 'running',
  }
}
