import { folded } from '../../kernel/fold.ts'
import type { AuditFilters } from '../../wire/audit.ts'
import { ROWS_PER_MS } from '../http/auditwriter.ts'
import type { Db } from '../store/db.ts'
import { type Condition, contains, Lister, when } from '../store/filter.ts'
import { type Readable, SCOPED_LIST, targetQueries } from './audit.rules.ts'
import { targetFinder } from './targets.ts'

/** Unix ms times `ROWS_PER_MS`, both ends included; of the rows at `until` only those with a `seq` below `below`. */
export interface Span {
  below: number
  since: number
  until: number
}

/** A way to the rows other than by time: by pairs of kind and actor (deeds), by targets, or by both. */
export interface AccessPath {
  /** On alias `d`. */
  deeds: Condition[]
  targets: readonly number[]
}

/** A search whose filters have been looked up in the dictionaries. */
export interface Plan {
  paths: AccessPath[]
  /** Whether a test reads the target itself, which is expensive. */
  judged: boolean
  /** Conditions on aliases `a` (row) and `d` (deed). */
  tests: Condition[]
  span: Span
}

interface Kind {
  id: number
  type: string
}

// More matching targets than this are not listed: each row's target is tested instead.
const MAX_TARGETS = 2000
const MAX_IN_SCOPE = 3000
const MAX_PAIRS = 10_000
const OPEN = `k.has_target = 0 OR k.target_type NOT IN (${SCOPED_LIST})`
// The end of time: the largest integer that JavaScript holds exactly.
const MAX_TIME = Number.MAX_SAFE_INTEGER

const among = (column: string, name: string): string => `${column} IN (SELECT value FROM json_each(@${name}))`
const idIn = (column: string, name: string, ids: readonly number[]): Condition => ({
  sql: among(column, name),
  params: { [name]: JSON.stringify(ids) },
})
const idsOf = (rows: { id: number }[]): number[] => rows.map((row) => row.id)
const typesOf = (rows: Kind[]): string[] => [...new Set(rows.map((row) => row.type))]
const anyOf = (conditions: Condition[]): Condition => ({
  sql: conditions.map((c) => `(${c.sql})`).join(' OR '),
  params: Object.assign({}, ...conditions.map((c) => c.params)),
})
/** Looks the pairs up once instead of once per row. */
const byDeed = (conditions: Condition[]): Condition => ({
  sql: `a.deed IN (SELECT d.id FROM audit_deeds d WHERE ${conditions.map((c) => `(${c.sql})`).join(' AND ')})`,
  params: Object.assign({}, ...conditions.map((c) => c.params)),
})
const ofTarget = ({ sql, params }: Condition): Condition => ({
  sql: `EXISTS (SELECT 1 FROM audit_targets t WHERE t.id = a.target AND (${sql}))`,
  params,
})

interface Scoped {
  /** The targets the reader may see, when they are few. */
  scope: number[] | undefined
}

/** `list`: also lists the targets in the reader's scope, which is work; without it each row is judged. */
type Planner = (filters: AuditFilters, readable: Readable | undefined, list: boolean) => Plan | undefined

/** Looks the filters up in the dictionaries; the plan is undefined when one matches no entry, so that no row can match. */
export function planner(db: Db): Planner {
  const kinds = new Lister<Kind>(db, { columns: 'k.id, k.target_type AS type', from: 'audit_kinds k' })
  const actors = new Lister<{ id: number }>(db, { columns: 'w.id', from: 'audit_actors w' })
  const pairs = new Lister<never>(db, { columns: '', from: 'audit_deeds d' })
  const targets = targetFinder(db)
  /** Few pairs are looked up once; with many, each row is tested by its own. */
  const pairsOf = (conditions: Condition[]): Condition[] =>
    conditions.length > 0 && pairs.count(conditions, MAX_PAIRS) < MAX_PAIRS ? [byDeed(conditions)] : conditions
  const kindIds = (conditions: Condition[]) => idsOf(kinds.all(conditions, 'k.id'))
  const actorIds = (conditions: Condition[]) => idsOf(actors.all(conditions, 'w.id'))

  // `among`: the kinds asked for. When their types have few targets, those are searched.
  const byTarget = (part: string, among: Kind[] | undefined): Plan | undefined => {
    const typed = kindIds([{ sql: 'instr(k.target_type, @needle) > 0', params: { needle: folded(part) } }])
    const found = targets.containing(part, MAX_TARGETS) ?? (among && targets.ofTypes(typesOf(among), part))
    if (typed.length === 0 && found?.length === 0) return undefined
    const ofType = idIn('d.kind', 'typed', typed)
    const named = found
      ? idIn('a.target', 'found', found)
      : ofTarget({ sql: 'instr(t.folded, @part) > 0', params: { part: folded(part) } })
    const drive = { deeds: [ofType], targets: found ?? [] }
    return { ...UNFILTERED, paths: found ? [drive] : [], judged: !found, tests: [anyOf([...pairsOf([ofType]), named])] }
  }

  const byReader = ({ exact, granted, inScope, reader }: Readable, list: boolean): Plan & Scoped => {
    const open = kindIds([{ sql: OPEN, params: {} }])
    const own = actorIds([{ sql: 'w.actor_id = @reader', params: { reader } }])
    const plain = [idIn('d.kind', 'open', open), idIn('d.actor', 'own', own)]
    const scope = granted && list ? targets.listed(targetQueries(granted), MAX_IN_SCOPE) : undefined
    const few = scope && exact ? idIn('a.target', 'scope', scope) : undefined
    const drives = scope ? [{ deeds: [anyOf(plain)], targets: scope }] : []
    return { ...UNFILTERED, paths: drives, judged: !few, scope, tests: [anyOf([...plain, few ?? ofTarget(inScope)])] }
  }

  /** For a common search text and a reader who may see little: own rows, unscoped targets, targets in scope. */
  const byBoth = (part: string, among: Kind[] | undefined, reader: string, scope: number[]): AccessPath[] => {
    const asked = among && [idIn('k.id', 'asked', idsOf(among))]
    const open = kinds.all([{ sql: OPEN, params: {} }, ...(asked ?? [])], 'k.id')
    const found = targets.ofTypes(typesOf(open), part)
    const own = actorIds([{ sql: 'w.actor_id = @reader', params: { reader } }])
    return found ? [{ deeds: [idIn('d.actor', 'own', own)], targets: [...new Set([...found, ...scope])] }] : []
  }

  return (filters, readable, list) => {
    const [byKind, byActor] = [kindConditions(filters), actorConditions(filters)]
    const kind = byKind.length > 0 ? kinds.all(byKind, 'k.id') : undefined
    const actor = byActor.length > 0 ? actorIds(byActor) : undefined
    if (kind?.length === 0 || actor?.length === 0) return undefined
    const target = filters.target === undefined ? UNFILTERED : byTarget(filters.target, kind)
    if (!target) return undefined
    const reader = readable ? byReader(readable, list) : { ...UNFILTERED, scope: undefined }
    const both =
      filters.target !== undefined && target.paths.length === 0 && readable && reader.scope
        ? byBoth(filters.target, kind, readable.reader, reader.scope)
        : []
    const deeds = [
      ...(kind ? [idIn('d.kind', 'kinds', idsOf(kind))] : []),
      ...(actor ? [idIn('d.actor', 'actors', actor)] : []),
    ]
    const plain: AccessPath[] = deeds.length > 0 ? [{ deeds, targets: [] }] : []
    const drives = [...target.paths, ...reader.paths, ...both].map((d) => ({ ...d, deeds: [...d.deeds, ...deeds] }))
    return {
      paths: [...plain, ...drives],
      judged: target.judged || reader.judged,
      tests: [...pairsOf(deeds), ...target.tests, ...reader.tests],
      span: spanOf(filters),
    }
  }
}

const UNFILTERED: Plan = {
  paths: [],
  judged: false,
  tests: [],
  span: { below: Number.MAX_SAFE_INTEGER, since: 0, until: MAX_TIME },
}

const spanOf = ({ from, to }: AuditFilters): Span => ({
  below: Number.MAX_SAFE_INTEGER,
  since: from === undefined ? 0 : Math.max(0, Date.parse(from) * ROWS_PER_MS),
  until: to === undefined ? MAX_TIME : Math.min(MAX_TIME, Date.parse(to) * ROWS_PER_MS + ROWS_PER_MS - 1),
})

// An action ends in what its route does, its outcome may follow: `recordings.read`, `recordings.read.succeeded`.
const READINGS = ['read', 'stream', 'offset', 'heartbeat']
  .map((verb) => `k.action || '.' NOT LIKE '%.${verb}.%'`)
  .join(' AND ')

const kindConditions = (f: AuditFilters): Condition[] => [
  ...when(f.action, `k.action LIKE @action ESCAPE '\\'`, (text) => ({ action: contains(text) })),
  ...when(f.changes, READINGS, () => ({})),
  ...when(f.reason, `k.reason LIKE @reason ESCAPE '\\'`, (text) => ({ reason: contains(text) })),
  ...when(f.outcome, 'k.outcome = @outcome', (outcome) => ({ outcome })),
  ...when(f.permission, 'k.permission = @permission', (permission) => ({ permission })),
]

const actorConditions = (f: AuditFilters): Condition[] =>
  when(f.actor, 'instr(w.folded, @actor) > 0', (text) => ({ actor: folded(text) }))
