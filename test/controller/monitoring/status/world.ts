// A small fleet with something of everything that is counted, and the exposition read as strictly as a scraper may.
import assert from 'node:assert/strict'
import type { Answer, Kit } from '../../../kit/kit.ts'

const AT = '2026-03-02T09:00:00.000Z'

/** Inserts rows behind the door. */
export const inserter =
  (k: Kit) =>
  (table: string, row: Record<string, string | number | null>): void =>
    void k.sql(
      `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${Object.keys(row).map(() => '?')})`,
      ...Object.values(row),
    )

export function makers(k: Kit) {
  const insert = inserter(k)
  return {
    node: (id: string, status = 'online', lastSeen = AT, more: object = {}) =>
      insert('nodes', {
        ...{ id, alias: id, hostname: 'h', site: 'North', room: 'Hall', last_seen_at: lastSeen, status },
        ...{ created_at: AT, updated_at: AT },
        ...more,
      }),
    room: (id: string) => insert('rooms', { id, site: 'North', name: id, created_at: AT, updated_at: AT }),
    schedule: (id: string, more: object = {}) =>
      insert('schedules', { id, name: id, created_at: AT, updated_at: AT, ...more }),
    recording: (id: string, status: string, more: object = {}) =>
      insert('recordings', {
        ...{ id, name: id, folder: '', source: 'ad_hoc', status, recorded_at: AT, updated_at: AT },
        ...more,
      }),
    job: (id: string, recording_id: string, node_id: string, status: string, more: object = {}) =>
      insert('recording_jobs', { id, recording_id, node_id, status, command: '{}', created_at: AT, ...more }),
    file: (recording_id: string, size_bytes = 1, rendition = 'primary') =>
      insert('recording_files', {
        ...{ recording_id, rendition, path: `${recording_id}.${rendition}`, checksum: 'sha256:0', size_bytes },
        ...{ mime_type: 'audio/wav', stored_at: AT },
      }),
    event: (id: string, type: string, severity: string, status: string, more: object = {}) =>
      insert('health_events', { id, type, severity, status, opened_at: AT, ...more }),
    upload: (id: string, recording_id: string, provider: string, status: string, more: object = {}) =>
      insert('upload_queue', {
        ...{ id, recording_id, destination_id: 'd', provider, status, max_attempts: 5, next_attempt_at: AT },
        ...{ cache_path: 'p', checksum: 'c', file_name: 'f', created_at: AT, updated_at: AT },
        ...more,
      }),
  }
}

export interface Exposed {
  help: string
  /** By labels as written, `{a="b"}`; empty for a family without labels. */
  samples: Map<string, number>
  type: string
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$/

/** Text format 0.0.4, read strictly: HELP and TYPE once and first, series of a family together, none twice, numbers only. */
export function exposed(text: string): Map<string, Exposed> {
  const families = new Map<string, Exposed>()
  assert.ok(text.endsWith('\n'))
  let current = ''
  for (const line of text.split('\n').filter(Boolean)) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') {
      assert.ok(!families.has(name), `${name} is exposed twice`)
      families.set(name, { help: rest, samples: new Map(), type: '' })
      current = name
    } else if (kind === 'TYPE') {
      assert.equal(name, current, line)
      assert.match(rest, /^(counter|gauge|histogram|summary)$/)
      ;(families.get(name) as Exposed).type = rest
    } else sample(line, current, families.get(current))
  }
  return families
}

function sample(line: string, current: string, family: Exposed | undefined): void {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? []
  assert.ok(name && family?.type, `not a sample: ${line}`)
  const suffixes = family.type === 'histogram' || family.type === 'summary' ? ['', '_sum', '_count', '_bucket'] : ['']
  assert.ok(
    suffixes.some((suffix) => name === current + suffix),
    `${line} stands in the family ${current}`,
  )
  const key = name === current ? labels : name + labels
  assert.ok(!family.samples.has(key), `a series twice: ${line}`)
  assert.ok(/^nan$/i.test(value) || !Number.isNaN(Number(value)), line)
  family.samples.set(key, Number(value))
}

export async function scraped(principal: { get(path: string): Promise<Answer> }): Promise<(name: string) => Exposed> {
  const answer = await principal.get('/metrics')
  assert.equal(answer.status, 200, answer.text)
  const families = exposed(answer.text)
  return (name) => {
    const family = families.get(`svc_${name}`)
    assert.ok(family, `svc_${name} is missing`)
    return family
  }
}
