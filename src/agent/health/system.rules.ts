// Health rules for the machine (docs/contract/health.md: Rules of the agent). Reported when the level changes; a healthy
// start reports nothing.
import type { Severity } from '../../wire/health.ts'
import type { Happening } from './report.ts'

type Level = 'ok' | 'warning' | 'critical'

interface Limits {
  critical: number
  warning: number
}

export interface SystemLimits {
  disk: Limits
  /** One-minute load divided by the number of cores. */
  loadPerCore: Limits
}

/** One reading of the machine; unknown values are absent and change nothing. */
export interface Reading {
  /** Whether there is any device to record from. */
  audio?: boolean
  /** Whether the program that encodes takes is installed. */
  encoder?: boolean
  disk?: { freeBytes: number; usedPercent: number }
  load?: { cores: number; loadAverage: number }
}

interface SystemLevels {
  audio: Level
  cpu: Level
  disk: Level
  encoder: Level
}

export const HEALTHY: SystemLevels = { audio: 'ok', cpu: 'ok', disk: 'ok', encoder: 'ok' }

export const levelOf = (value: number, { critical, warning }: Limits): Level =>
  value >= critical ? 'critical' : value >= warning ? 'warning' : 'ok'

const round = (value: number): number => Math.round(value * 100) / 100

type Edge = { raised: string; recovered: string }

/** The event of a change of level; none when it is the same. */
function edge(before: Level, now: Level, names: Edge, details: Record<string, unknown>): Happening[] {
  if (before === now) return []
  const severity: Severity = now === 'ok' ? 'info' : now
  return [{ details, severity, type: now === 'ok' ? names.recovered : names.raised }]
}

function disk(before: Level, reading: Reading['disk'], limits: Limits): [Level, Happening[]] {
  if (!reading) return [before, []]
  const now = levelOf(reading.usedPercent, limits)
  const details = { freeBytes: reading.freeBytes, usedPercent: round(reading.usedPercent), ...thresholds(limits) }
  const names = { raised: 'agent.system.disk_pressure', recovered: 'agent.system.disk_recovered' }
  return [now, edge(before, now, names, details)]
}

function cpu(before: Level, reading: Reading['load'], limits: Limits): [Level, Happening[]] {
  if (!reading) return [before, []]
  const loadPerCore = reading.loadAverage / Math.max(1, reading.cores)
  const now = levelOf(loadPerCore, limits)
  const details = { ...reading, loadPerCore: round(loadPerCore), ...thresholds(limits) }
  return [
    now,
    edge(before, now, { raised: 'agent.system.cpu_pressure', recovered: 'agent.system.cpu_recovered' }, details),
  ]
}

function audio(before: Level, present: boolean | undefined): [Level, Happening[]] {
  if (present === undefined) return [before, []]
  const now: Level = present ? 'ok' : 'warning'
  const names = { raised: 'agent.audio_backend.unavailable', recovered: 'agent.audio_backend.recovered' }
  return [now, edge(before, now, names, {})]
}

function encoder(before: Level, present: boolean | undefined): [Level, Happening[]] {
  if (present === undefined) return [before, []]
  const now: Level = present ? 'ok' : 'critical'
  const names = { raised: 'agent.encoder.missing', recovered: 'agent.encoder.recovered' }
  return [now, edge(before, now, names, present ? {} : { message: NO_ENCODER })]
}

/** Takes are still captured; their delivery waits. */
export const NO_ENCODER = 'ffmpeg is not installed: takes cannot be encoded (Debian: apt-get install ffmpeg)'

const thresholds = ({ critical, warning }: Limits) => ({ criticalAt: critical, warningAt: warning })

/** The levels after a reading, and the events that report the changes. */
export function judge(before: SystemLevels, reading: Reading, limits: SystemLimits): [SystemLevels, Happening[]] {
  const [diskLevel, diskEvents] = disk(before.disk, reading.disk, limits.disk)
  const [cpuLevel, cpuEvents] = cpu(before.cpu, reading.load, limits.loadPerCore)
  const [audioLevel, audioEvents] = audio(before.audio, reading.audio)
  const [encoderLevel, encoderEvents] = encoder(before.encoder, reading.encoder)
  return [
    { audio: audioLevel, cpu: cpuLevel, disk: diskLevel, encoder: encoderLevel },
    [...diskEvents, ...cpuEvents, ...audioEvents, ...encoderEvents],
  ]
}
