// Every list, filter, search and facet call over a million recordings, in-process, one at a time: p95 within 25 ms of a core.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type Kit, kit } from '../kit/kit.ts'
import { median, quantile, type Row } from './measure.ts'
import { seed } from './seed.ts'
import type { Place } from './world.ts'

export const LIMIT_MS = 25
const ROUNDS = 40

export type Who = 'admin' | 'denied' | 'room' | 'site' | 'some'
/** Name, caller, paths: asked in turn. */
export type Call = [name: string, who: Who, ...paths: string[]]

const SORTS = ['durationSeconds', 'folder', 'healthStatus', 'name', 'recordedAt', 'source', 'status']
const sorted = (query: string): string[] =>
  SORTS.flatMap((sort) =>
    ['asc', 'desc'].map((order) => `/recordings?limit=50&${query}&sortBy=${sort}&sortOrder=${order}`),
  )
const recordings = (...queries: string[]): string[] => queries.map((query) => `/recordings?limit=50&${query}`)

const FILTERS = [
  'status=failed',
  'status=recording',
  'healthStatus=critical',
  'cacheState=missing',
  'nodeId=node_7',
  'scheduleId=sched_9',
]
const MORE = [
  'recordingProfileId=profile_1',
  'uploadPolicyId=upload_policy_2',
  'tag=physik',
  'tag=RARE',
  'folder=Physik',
  'folder=2021/03',
]
const PAIRS = [
  'nodeId=node_7&status=failed',
  'scheduleId=sched_9&tag=physik',
  'status=partial&healthStatus=warning&cacheState=cached',
]
const WORDS = [
  'lecture',
  'physik',
  'ab',
  'e',
  '会議',
  '会',
  'prüfung',
  'PRÜFUNG',
  'recorder 17',
  'quorum is met',
  'zzz',
  'qx',
  'rec_0',
  'cached',
  'sched_9',
]

const RECORDINGS: Call[] = [
  ['recordings, every order', 'admin', ...sorted('offset=0')],
  [
    'recordings, deep pages',
    'admin',
    ...recordings('offset=500000', 'offset=900000', 'offset=999900', 'offset=100000&sortBy=name'),
  ],
  ['recordings, one filter', 'admin', ...recordings(...FILTERS, ...MORE)],
  [
    'recordings, dates',
    'admin',
    ...recordings('recordedFrom=2022-01-01', 'recordedTo=2021-01-01', 'recordedFrom=2021-03-01&recordedTo=2021-03-02'),
  ],
  ['recordings, several filters', 'admin', ...recordings(...PAIRS)],
  ['recordings, one filter, every order', 'admin', ...FILTERS.flatMap(sorted)],
  ...WORDS.map((word): Call => [`search ${word}`, 'admin', ...recordings(`search=${encodeURIComponent(word)}`)]),
  [
    'search and sort',
    'admin',
    ...recordings('search=lecture&sortBy=name', 'search=physik&sortBy=folder', 'search=quorum&sortBy=durationSeconds'),
  ],
  [
    'search and filter',
    'admin',
    ...recordings('search=lecture&nodeId=node_7', 'search=physik&status=failed', 'search=quorum&tag=physik'),
  ],
  ['scoped: one room, every order', 'room', ...sorted('offset=0')],
  ['scoped: one room, filters', 'room', ...recordings(...FILTERS, ...MORE)],
  [
    'scoped: one room, search',
    'room',
    ...WORDS.map((word) => `/recordings?limit=50&search=${encodeURIComponent(word)}`),
  ],
  ['scoped: one site, every order', 'site', ...sorted('offset=0')],
  ['scoped: some recordings', 'some', ...sorted('offset=0')],
  ['refused: one node', 'denied', ...sorted('offset=0'), ...recordings(...FILTERS)],
  ['facets', 'admin', '/recordings/facets'],
  ['facets, one room', 'room', '/recordings/facets'],
  ['facets, one site', 'site', '/recordings/facets'],
  ['facets, one node refused', 'denied', '/recordings/facets'],
]

const AUDIT_FILTERS = [
  ...['', 'action=recordings', 'action=nodes.update', 'action=zzz', 'reason=missing', 'reason=recording_not_found'],
  ...[
    'actor=person 17',
    'actor=node_42',
    'actor=person',
    'outcome=denied',
    'outcome=partial',
    'permission=auth:manage',
  ],
  ...['target=rec_0', 'target=77777', 'target=f3', 'target=e', 'target=zq', 'target=lecture', 'target=recording'],
  ...['actor=person 17&action=recordings&outcome=failed', 'target=lecture 7&actor=person 5', 'target=f3&action=nodes'],
]
const AUDIT: Call[] = (['admin', 'room', 'site', 'denied'] as const).flatMap((who): Call[] => [
  [`audit pages, ${who}`, who, ...AUDIT_FILTERS.map((query) => `/audit-events?${query}`)],
  [`audit, deeper pages, ${who}`, who, ...AUDIT_FILTERS.map((query) => `/audit-events?offset=1000&${query}`)],
  [`audit facets, ${who}`, who, ...AUDIT_FILTERS.map((query) => `/audit-events/facets?${query}`)],
])

const OVERVIEWS: Call[] = (['admin', 'room', 'site', 'some', 'denied'] as const).flatMap((who): Call[] => [
  [`status, ${who}`, who, '/status'],
  [`metrics, ${who}`, who, '/metrics'],
])

const CALLS: Call[] = [...RECORDINGS, ...AUDIT, ...OVERVIEWS]

/** The database of a fleet of years; it is seeded, which takes minutes, unless it is there: `ROOMTONE_SCALE_DB` names one that is kept. */
export function scaleFile({ dir }: Pick<Place, 'dir'>): string {
  const file = process.env.ROOMTONE_SCALE_DB ?? path.join(dir, 'scale.db')
  if (!fs.existsSync(file)) seed(file, undefined, (line) => process.stderr.write(`  ${line}\n`))
  return file
}

/** Measures each call over that database. */
export async function scale(place: Place): Promise<Row[]> {
  const k = kit({ file: scaleFile(place) })
  try {
    const callers = people(k)
    const rows: Row[] = []
    for (const call of CALLS) rows.push(await measured(callers, call))
    return rows
  } finally {
    await k.close()
  }
}

type Client = ReturnType<Kit['as']>

export function people(k: Kit): Record<Who, Client> {
  const some = k
    .rows<{ id: string }>('SELECT id FROM recordings WHERE seq % 50021 = 0')
    .map(({ id }) => ['recording', id])
  k.sql(
    `INSERT OR IGNORE INTO access_policies VALUES ('p', 0, 'deny', 'user', 'denied', 'node', 'node_3', NULL),
      ('q', 0, 'deny', 'user', 'site', 'recording', (SELECT id FROM recordings WHERE seq = 77), NULL)`,
  )
  return {
    admin: k.as('admin'),
    denied: k.person('denied', ['owner']),
    room: k.person('room', ['operator', 'auditor'], [['room', 'room_5']]),
    site: k.person(
      'site',
      ['operator', 'auditor'],
      [
        ['site', 'North'],
        ['room', 'room_4'],
      ],
    ),
    some: k.person('some', ['operator'], some as [string, string][]),
  }
}

/** Time of this thread on a core: what else the machine does is not in it. */
export function coreMs(): number {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1000
}

async function measured(callers: Record<Who, Client>, [name, who, ...paths]: Call): Promise<Row> {
  const times: { ms: number; path: string }[] = []
  const client = callers[who]
  for (const path of paths) await client.get(path)
  for (let round = 0; round < Math.max(3, ROUNDS / paths.length); round++)
    for (const path of paths) {
      const from = coreMs()
      const { status, text } = await client.get(path)
      times.push({ ms: coreMs() - from, path })
      if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`)
    }
  const all = times.map(({ ms }) => ms)
  const worst = times.reduce((a, b) => (b.ms > a.ms ? b : a))
  const how = `${who}, p50 ${median(all).toFixed(1)} ms, worst ${worst.ms.toFixed(0)} ms ${decodeURIComponent(worst.path)}`
  return { name, measured: quantile(all, 0.95), limit: LIMIT_MS, unit: 'ms', bound: 'most', how }
}
