import { systemWords } from './words.ts'

export type Level = 'debug' | 'info' | 'warn' | 'error'
const RANK: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 }

/** One JSON object per line, for journald and containers. Never pass it a secret. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** A log line with the current time and a newline. */
export const logLine = (level: Level, message: string, fields: Record<string, unknown> = {}): string =>
  `${JSON.stringify({ at: new Date().toISOString(), level, message, ...fields })}\n`

export function jsonLog(write: (line: string, level: Level) => void, least: Level = 'info'): Log {
  const at =
    (level: Level) =>
    (message: string, fields: Record<string, unknown> = {}) => {
      if (RANK[level] >= RANK[least]) write(logLine(level, message, fields), level)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/**
 * Log fields for any thrown value: for the network, the disk and the database words for people and the system's error code,
 * for everything else message and stack.
 */
export function errorFields(e: unknown): { code?: string; error: string; stack?: string } {
  if (!(e instanceof Error)) return { error: String(e) }
  const words = systemWords(e)
  if (words === undefined) return { error: e.message, ...(e.stack === undefined ? {} : { stack: e.stack }) }
  const { code, message } = e as { code?: string; message: string }
  if (code !== undefined) return { error: words, code }
  // Somebody put it in words already, or only wrapped it.
  return { error: message.includes(words) ? message : `${message}: ${words}` }
}
