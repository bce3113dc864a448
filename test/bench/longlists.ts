// Lists at their worst places over a million recordings, a million health events and five million audit rows: deep pages, rare
// words in another order, callers in scope, devices of 256 channels, a crowded calendar. In-process, one at a time.
import Database from 'better-sqlite3'
import { kit } from '../kit/kit.ts'
import { median, quantile, type Row } from './measure.ts'
import { type Call, coreMs, LIMIT_MS, people, scaleFile, type Who } from './scale.ts'
import type { Place } from './world.ts'

const STATEMENT_MS = 20
const ROUNDS = 40
const SORTS = ['durationSeconds', 'folder', 'healthStatus', 'name', 'recordedAt', 'source', 'status']
const DEEP = [1000, 5000, 10_000]
const RARE = [
  'quorum is met',
  '会議',
  'recorder 17',
  'week 33',
  'prüfung',
  'physik lecture 7',
  'microphone 3',
  'lecture 999',
]

const list = (path: string, queries: readonly string[]): string[] => queries.map((query) => `${path}?limit=50&${query}`)
const recordings = (...queries: string[]): string[] => list('/recordings', queries)
const health = (...queries: string[]): string[] => list('/health-events', queries)
const audit = (...queries: string[]): string[] => list('/audit-events', queries)
const each = (...groups: (readonly (number | string)[])[]): string[] =>
  groups.reduce<string[]>((all, group) => all.flatMap((one) => group.map((two) => `${one}&${two}`)), [''])
const named = (name: string, values: readonly (number | string)[]): string[] =>
  values.map((value) => `${name}=${encodeURIComponent(value)}`)

const FILTERS = [
  '',
  'status=failed',
  'healthStatus=critical',
  'nodeId=node_7',
  'scheduleId=sched_9',
  'tag=physik',
  'folder=2021/03',
]
const HEALTH = [
  ...[
    '',
    'status=open',
    'status=resolved',
    'status=acknowledged',
    'severity=critical',
    'severity=warning&status=resolved',
  ],
  ...[
    'type=agent.meter.xrun',
    'type=agent.meter.xrun&severity=critical',
    'nodeId=node_7',
    'scheduleId=sched_9',
    'nodeId=node_99',
  ],
  ...['search=threshold', 'search=node_17', 'search=xr', 'search=zzzz', 'search=clipping&severity=critical'],
  ...['openedFrom=2024-01-01T00:00:00Z', 'openedTo=2021-06-01T00:00:00Z&severity=critical'],
  ...['resolvedFrom=2022-01-01T00:00:00Z&resolvedTo=2022-01-10T00:00:00Z', 'resolvedFrom=2023-01-01T00:00:00Z'],
]
const SPARSE = [
  ...[
    'action=nodes.update',
    'action=nodes.update&outcome=failed',
    'reason=recording_not_found',
    'outcome=partial',
    'changes=1&outcome=denied',
  ],
  ...[
    'actor=person 17&action=recordings&outcome=failed',
    'actor=person 17&action=nodes.delete',
    'actor=node_42&outcome=denied',
  ],
  ...[
    'target=lecture 7777',
    'target=lecture 7&actor=person 5',
    'target=f3&action=nodes',
    'target=recorder 3&outcome=failed',
  ],
  ...[
    'from=2020-01-01&to=2020-01-02',
    'action=settings.profiles&outcome=denied',
    'permission=recording:read&outcome=failed&actor=person 190',
  ],
]
const CALENDAR = [
  '',
  'start=2026-03-02T00:00:00Z&end=2026-03-09T00:00:00Z',
  'start=2026-02-23T00:00:00Z&end=2026-04-06T00:00:00Z',
]
const WINDOWS = [
  'start=2026-03-02T00:00:00Z&end=2026-03-03T00:00:00Z',
  'start=2027-01-01T00:00:00Z&end=2027-02-01T00:00:00Z',
]
const PLACES = ['roomId=room_5', 'site=North', 'search=lecture 77', 'nodeId=node_7']
const calendar = (...queries: string[]): string[] => queries.map((query) => `/schedules/calendar?${query}`)

const WHO = ['admin', 'room', 'site', 'some', 'denied'] as const satisfies Who[]
const forAll = (name: string, ...paths: string[]): Call[] => WHO.map((who): Call => [`${name}, ${who}`, who, ...paths])

const CALLS: Call[] = [
  ...FILTERS.map(
    (filter): Call => [
      `recordings ${filter}, deep`,
      'admin',
      ...recordings(...each(named('offset', DEEP), [filter], named('sortBy', SORTS))),
    ],
  ),
  ...(['room', 'site', 'denied'] as const).map(
    (who): Call => [
      `recordings, deep, ${who}`,
      who,
      ...recordings(...each(named('offset', DEEP), named('sortBy', SORTS))),
    ],
  ),
  ...RARE.map(
    (word): Call => [
      `recordings, ${word}, every order`,
      'admin',
      ...recordings(...each(named('search', [word]), named('sortBy', SORTS), ['sortOrder=asc', 'sortOrder=desc'])),
    ],
  ),
  ...forAll('health', ...health(...HEALTH)),
  ...forAll('health, deep', ...health(...each(named('offset', DEEP), HEALTH))),
  ...(['admin', 'room', 'site', 'denied'] as const).flatMap((who): Call[] => [
    [`audit, sparse, ${who}`, who, ...audit(...SPARSE)],
    [`audit, sparse, deep, ${who}`, who, ...audit(...each(named('offset', DEEP), SPARSE.slice(0, 8)))],
  ]),
  ...forAll('nodes', '/nodes', '/nodes?offset=50', '/nodes?q=stage', '/nodes?site=North'),
  ['nodes, limit=200', 'admin', '/nodes?limit=200'],
  ...forAll('calendar', ...calendar(...CALENDAR)),
  ['calendar, windows', 'admin', ...calendar(...WINDOWS)],
  ['calendar, filters', 'admin', ...calendar(...each(CALENDAR, PLACES))],
  ...WHO.map(
    (who): Call => [
      `schedules, ${who}`,
      who,
      ...list('/schedules', ['offset=0', 'offset=2000', 'offset=0&search=lecture 9']),
    ],
  ),
]

/** The slowest statement since it was asked last. */
interface Slowest {
  ms: number
  sql: string
}

/** Measures every statement of every database: time of this thread on a core. */
function watchStatements(): () => Slowest {
  let slowest: Slowest = { ms: 0, sql: '' }
  const { prototype } = new Database(':memory:').prepare('SELECT 1').constructor as unknown as {
    prototype: Record<'all' | 'get' | 'run', (this: { source: string }, ...given: unknown[]) => unknown>
  }
  for (const name of ['all', 'get', 'run'] as const) {
    const original = prototype[name]
    prototype[name] = function (...given) {
      const from = coreMs()
      const result = original.apply(this, given)
      const ms = coreMs() - from
      if (ms > slowest.ms) slowest = { ms, sql: this.source }
      return result
    }
  }
  return () => {
    const was = slowest
    slowest = { ms: 0, sql: '' }
    return was
  }
}

/** `ROOMTONE_SCALE_DB` names a database that is kept; `ROOMTONE_LISTS` a part of the names of the calls to measure. */
export async function longLists(place: Place): Promise<Row[]> {
  const k = kit({ file: scaleFile(place) })
  try {
    const callers = people(k)
    const slowest = watchStatements()
    const asked = CALLS.filter(([name]) => name.includes(process.env.ROOMTONE_LISTS ?? ''))
    const rows: Row[] = []
    // The answer is read, not parsed: that is the client's work.
    const get = async (who: Who, path: string): Promise<number> => {
      const headers = { authorization: `Bearer ${callers[who].token}` }
      const response = await k.app.request(`/api/v1${path}`, { headers })
      await response.arrayBuffer()
      return response.status
    }
    for (const call of asked) rows.push(...(await measured(get, call, slowest)))
    return rows
  } finally {
    await k.close()
  }
}

async function measured(
  get: (who: Who, path: string) => Promise<number>,
  [name, who, ...paths]: Call,
  slowest: () => Slowest,
): Promise<Row[]> {
  for (const path of paths) await get(who, path)
  slowest()
  const times: { ms: number; path: string; statement: Slowest }[] = []
  for (let round = 0; round < Math.max(3, ROUNDS / paths.length); round++)
    for (const path of paths) {
      const from = coreMs()
      const status = await get(who, path)
      times.push({ ms: coreMs() - from, path: decodeURIComponent(path), statement: slowest() })
      if (status !== 200) throw new Error(`${path} answered ${status}`)
    }
  const all = times.map(({ ms }) => ms)
  const worst = times.reduce((a, b) => (b.ms > a.ms ? b : a))
  const longest = times.reduce((a, b) => (b.statement.ms > a.statement.ms ? b : a))
  const common = { unit: 'ms', bound: 'most' } as const
  return [
    {
      ...common,
      name,
      measured: quantile(all, 0.95),
      limit: LIMIT_MS,
      how: `p50 ${median(all).toFixed(1)} ms, worst ${worst.ms.toFixed(0)} ms ${worst.path}`,
    },
    {
      ...common,
      name: `${name}: slowest statement`,
      measured: longest.statement.ms,
      limit: STATEMENT_MS,
      how: `${longest.path}: ${longest.statement.sql.replace(/\s+/g, ' ').slice(0, 160)}`,
    },
  ]
}
