import * as z from 'zod'
import { choice, count, type SettingsTable } from '../../kernel/settings.ts'
import { CUSTODY_MODES } from '../../wire/custody.ts'

/** Takes: storage, jobs, tools and retention. */
export const RECORDING_SETTINGS = {
  SVC_RECORDING_CACHE_DIR: [z.string().optional(), 'takes directory (default: recordings below the data directory)'],
  SVC_RECORDING_CACHE_MAX_BYTES: [count(4_294_967_296), 'largest accepted take, bytes'],
  SVC_CUSTODY: [
    z.enum(CUSTODY_MODES).default('controller'),
    'how long recorders keep a delivered take: until the controller has stored it (controller), or until a library destination and the database replica have it (replicated)',
  ],
  SVC_LIBRARY_REDIRECT: [
    choice(false),
    'redirect downloads of takes stored only at a destination (1), instead of streaming them through the controller',
  ],
  SVC_FFPROBE_COMMAND: [z.string().min(1).default('ffprobe'), 'program that reads format and length of a take'],
  SVC_AUDIO_PREVIEW_MAX_BYTES: [count(67_108_864), 'largest output of an audio tool, bytes'],
  SVC_AUDIO_TOOL_TIMEOUT_MS: [count(15_000), 'time of an audio tool for a short take, ms; a long one gets more'],
  SVC_FFMPEG_COMMAND: [z.string().min(1).default('ffmpeg'), 'program that joins chunks and reads waveforms'],
  SVC_RECORDING_JOB_LEASE_SECONDS: [count(30), 'lease of a claimed job'],
  SVC_RECORDING_JOB_LEASE_RUNNER_ENABLED: [choice(true), 'whether expired leases fail their job'],
  SVC_RECORDING_JOB_LEASE_RUNNER_INTERVAL_SECONDS: [count(10), 'pause between lease sweeps'],
  SVC_RECORDING_JOB_LEASE_RUNNER_BATCH_SIZE: [count(200), 'maximum number of leases ended per pass'],
  SVC_RETENTION_RUNNER_ENABLED: [choice(true), 'whether retention policies delete stored takes'],
  SVC_RETENTION_RUNNER_INTERVAL_SECONDS: [count(300), 'pause between retention passes'],
  SVC_RETENTION_RUNNER_BATCH_SIZE: [count(25), 'maximum number of takes deleted per retention pass'],
  SVC_TAKE_MANIFESTS_ENABLED: [choice(true), 'whether a manifest is kept beside each take, for roomtone rebuild'],
  SVC_TAKE_MANIFESTS_INTERVAL_SECONDS: [count(5), 'pause between passes that write manifests'],
  SVC_TAKE_MANIFESTS_BATCH_SIZE: [count(200), 'maximum number of takes whose manifests one pass writes'],
  SVC_AGENT_CAPTURE_CHANNELS: [count(2), 'channels of a job when nothing else says'],
  SVC_AGENT_CAPTURE_DEVICE: [z.string().min(1).default('default'), 'capture device when the node has no interface'],
  SVC_AGENT_CAPTURE_FORMAT: [z.string().min(1).default('S16_LE'), 'sample format of a job when nothing else says'],
  SVC_AGENT_CAPTURE_INTERFACE_ID: [z.string().optional(), 'interface of a job when the request names none'],
  SVC_AGENT_CAPTURE_SAMPLE_RATE: [count(48_000), 'sample rate, Hz, when nothing else says'],
  SVC_AGENT_CAPTURE_SECONDS: [count(3600), 'length of an ad-hoc take when the request names none'],
} as const satisfies SettingsTable
