// A row that says how old a copy of the database is, and whether it holds the last write of a hand-over.
import type { Db } from '../store/db.ts'

export interface Pulse {
  /** Of the last write before a hand-over; absent while this controller serves. */
  mark?: string
  /** The term that wrote it. */
  term: number
  writtenAt: string
}

const KEY = 'lease_pulse'

export function pulseStore(db: Db) {
  const read = db.stmt<{ key: string }, { value: string }>(`SELECT value FROM controller_state WHERE key = @key`)
  const write = db.stmt<{ key: string; value: string; now: string }>(
    `INSERT INTO controller_state (key, value, updated_at) VALUES (@key, @value, @now)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  )
  return {
    read(): Pulse | undefined {
      const row = read.get({ key: KEY })
      return row && (JSON.parse(row.value) as Pulse)
    },
    write(pulse: Pulse): void {
      write.run({ key: KEY, now: pulse.writtenAt, value: JSON.stringify(pulse) })
    },
  }
}
