import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cell, csvExport } from '../../../src/controller/http/csv.ts'
import { pageMeta } from '../../../src/controller/http/page.ts'
import { Lister } from '../../../src/controller/store/filter.ts'
import { kit } from '../../kit/kit.ts'

test('a cell is never read as a formula, and quotes are doubled', () => {
  assert.equal(cell('=1+1', 'needed'), "'=1+1")
  assert.equal(cell('@cmd "x"', 'needed'), `"'@cmd ""x"""`)
  assert.equal(cell(-12.5, 'needed'), '-12.5')
  assert.equal(cell('plain', 'always'), '"plain"')
  assert.equal(cell(undefined, 'always'), '""')
  assert.equal(cell({ a: [1] }, 'needed'), '"{""a"":[1]}"')
  assert.equal(cell('two\nlines', 'needed'), '"two\nlines"')
})

test('an export is a header and lines without an end of line, named by kind and time', async () => {
  const answer = csvExport({
    columns: [
      ['id', (row: { id: string; n: number }) => row.id],
      ['n', (row) => row.n],
    ],
    kind: 'recordings',
    now: '2026-03-02T08:00:00.000Z',
    quoting: 'needed',
    slices: [[{ id: 'a', n: 1 }], [{ id: 'b', n: 2 }]],
  })
  assert.equal(await answer.text(), 'id,n\na,1\nb,2')
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(
    answer.headers.get('content-disposition'),
    'attachment; filename="svc-recordings-2026-03-02T08-00-00-000Z.csv"',
  )
})

test('a walk meets every row once, in order, also where a key repeats', async () => {
  const k = kit()
  for (let i = 0; i < 23; i++)
    k.sql(
      'INSERT INTO access_groups VALUES (?, ?, NULL, ?, ?)',
      `g${String(i).padStart(2, '0')}`,
      `Group ${i % 3}`,
      'a',
      'a',
    )
  const groups = new Lister<{ id: string }>(k.db, { columns: 'g.id', from: 'access_groups g' })
  for (const direction of ['ASC', 'DESC'] as const) {
    const slices = [
      ...groups.walk([{ sql: 'g.id <> @not', params: { not: 'g05' } }], { direction, keys: ['g.name', 'g.id'] }, 4),
    ]
    const all = groups.rows(
      [{ sql: 'g.id <> @not', params: { not: 'g05' } }],
      `g.name ${direction}, g.id ${direction}`,
      100,
      0,
    )
    assert.deepEqual(slices.flat(), all)
    assert.deepEqual(
      slices.map((rows) => rows.length),
      [4, 4, 4, 4, 4, 2],
    )
  }
  await k.close()
})

test('a total is exact up to ten thousand rows beyond the page, and says so when it is not', async () => {
  const k = kit()
  k.sql(`INSERT INTO access_groups WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10020)
    SELECT 'g' || i, 'Group', NULL, 'a', 'a' FROM n`)
  const groups = new Lister<{ id: string }>(k.db, { columns: 'g.id', from: 'access_groups g' })
  assert.equal(groups.page([], 'g.id', 50, 0).total, 10_020)
  const { rows, total } = groups.page([], 'g.id', 10, 0)
  assert.equal(total, 10_010)
  assert.equal(pageMeta(rows.length, total, 10, 0).totalIsLowerBound, true)
  assert.equal(pageMeta(50, 10_020, 50, 0).totalIsLowerBound, undefined)
  await k.close()
})
