import {
  FORESIGHT,
  FORESIGHT_KINDS,
  type ForesightKind,
  type ForesightPatch,
  type ForesightRule,
  type ForesightSettings,
} from '../../../wire/foresight.ts'
import type { Db, Params } from '../../store/db.ts'
import { present } from '../../store/filter.ts'

type Row = Omit<ForesightRule, 'enabled'> & { enabled: number; kind: string }

/** How each kind of risk is foreseen: as built in, unless people changed it. */
export function foresightSettings(db: Db) {
  const changed = db.stmt<object, Row>(
    `SELECT kind, enabled, lead_minutes AS leadMinutes, severity FROM foresight_kinds`,
  )
  const put = db.stmt<Params>(
    `INSERT INTO foresight_kinds (kind, enabled, lead_minutes, severity, updated_at)
     VALUES (@kind, @enabled, @leadMinutes, @severity, @now)
     ON CONFLICT (kind) DO UPDATE SET enabled = excluded.enabled, lead_minutes = excluded.lead_minutes,
       severity = excluded.severity, updated_at = excluded.updated_at`,
  )
  const get = (): ForesightSettings => {
    const own = new Map(
      changed.all({}).map(({ enabled, kind, ...rule }) => [kind, { ...rule, enabled: enabled === 1 }]),
    )
    const kinds = FORESIGHT_KINDS.map((kind) => [kind, { ...FORESIGHT[kind], ...own.get(kind) }])
    return { kinds: Object.fromEntries(kinds) as Record<ForesightKind, ForesightRule> }
  }
  return {
    get,
    patch({ kinds }: ForesightPatch, now: string): { after: ForesightSettings; before: ForesightSettings } {
      const before = get()
      for (const kind of FORESIGHT_KINDS) {
        const change = kinds[kind]
        if (!change) continue
        const rule = { ...before.kinds[kind], ...present(change) }
        put.run({ ...rule, enabled: Number(rule.enabled), kind, now })
      }
      return { after: get(), before }
    },
  }
}
export type ForesightSettingsStore = ReturnType<typeof foresightSettings>
