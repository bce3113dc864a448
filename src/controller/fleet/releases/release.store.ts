import type { AgentRelease, ReleaseAsset } from '../../../wire/nodes.ts'
import type { Db } from '../../store/db.ts'

export interface KnownRelease {
  /** Its files at the release host. */
  assets: ReleaseAsset[]
  checkedAt: string
  data: AgentRelease | null
  /** The list it was read from, because a release of another repository does not count. */
  source: string
}

const KEY = 'agent_release'

/** The last good answer of the release host, kept across restarts. */
export function releaseStore(db: Db) {
  const get = db.stmt<{ key: string }, { value: string }>(`SELECT value FROM controller_state WHERE key = @key`)
  const set = db.stmt<{ key: string; value: string; now: string }>(
    `INSERT INTO controller_state (key, value, updated_at) VALUES (@key, @value, @now)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
  )
  return {
    read(source: string): KnownRelease | undefined {
      const row = get.get({ key: KEY })
      const known = row && (JSON.parse(row.value) as KnownRelease)
      return known?.source === source ? known : undefined
    },
    write: (known: KnownRelease): void =>
      void set.run({ key: KEY, value: JSON.stringify(known), now: known.checkedAt }),
  }
}
export type ReleaseStore = ReturnType<typeof releaseStore>
