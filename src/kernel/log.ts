import { systemWords } from './words.ts'

export type Level = 'debug' | 'info' | 'warn' | 'error'
const RANK: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 }

/** One JSON object per line; journald and containers read it as it is. Never pass it a secret. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** The line of now, with its newline. */
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
 * What a log line may say of an unknown thrown value, no enumerable extras: of the network, the disk and the database words
 * for people and the system's own code, of everything else message and stack.
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
