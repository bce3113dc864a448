import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../../../src/controller/app.ts'
import { randomIds } from '../../../src/kernel/ids.ts'
import { keys } from '../../kit/kit.ts'
import { house, takes } from './world.ts'

const quiet = { debug() {}, error() {}, info() {}, warn() {} }

/** Another controller over the same database, at a time of its own. */
function another({ k }: Awaited<ReturnType<typeof house>>, at: () => string) {
  const now = () => Date.parse(at())
  return createApp({
    ...{ clock: { monotonic: now, now }, config: k.config, db: k.db, ids: randomIds, log: quiet },
    keys,
  })
}

const CASES = [
  // Weekly 02:30 in Berlin over both changes: 01:00 UTC is the first instant after the gap, 00:30 the earlier of two.
  {
    zone: 'Europe/Berlin',
    recurrence: { mode: 'weekly', interval: 1, daysOfWeek: ['sunday'], startTime: '02:30', endTime: '03:30' },
    from: '2026-03-20T00:00:00.000Z',
    starts: ['2026-03-22T01:30', '2026-03-29T01:00', '2026-04-05T00:30'],
  },
  {
    zone: 'Europe/Berlin',
    recurrence: { mode: 'weekly', interval: 1, daysOfWeek: ['sunday'], startTime: '02:30', endTime: '03:30' },
    from: '2026-10-17T00:00:00.000Z',
    starts: ['2026-10-18T00:30', '2026-10-25T00:30', '2026-11-01T01:30'],
  },
  // Samoa: its clock went forward at midnight on 26 September 2010, and 30 December 2011 never was.
  {
    zone: 'Pacific/Apia',
    recurrence: { mode: 'daily', interval: 1, startTime: '00:30', endTime: '01:30' },
    from: '2010-09-25T00:00:00.000Z',
    starts: ['2010-09-25T11:30', '2010-09-26T11:00', '2010-09-27T10:30'],
  },
  {
    zone: 'Pacific/Apia',
    recurrence: { mode: 'daily', interval: 1, startTime: '02:30', endTime: '03:30' },
    from: '2011-12-28T00:00:00.000Z',
    starts: ['2011-12-28T12:30', '2011-12-29T12:30', '2011-12-30T12:30'],
  },
  // Lord Howe: half an hour, both ways.
  {
    zone: 'Australia/Lord_Howe',
    recurrence: { mode: 'daily', interval: 1, startTime: '02:15', endTime: '02:45' },
    from: '2026-10-02T12:00:00.000Z',
    starts: ['2026-10-02T15:45', '2026-10-03T15:30', '2026-10-04T15:15'],
  },
  {
    zone: 'Australia/Lord_Howe',
    recurrence: { mode: 'daily', interval: 1, startTime: '01:45', endTime: '02:15' },
    from: '2026-04-03T12:00:00.000Z',
    starts: ['2026-04-03T14:45', '2026-04-04T14:45', '2026-04-05T15:15'],
  },
]

for (const { from, recurrence, starts, zone } of CASES)
  test(`${zone} from ${from.slice(0, 10)}: each occurrence once, over restarts and double ticks`, async () => {
    const home = await house()
    const { add, admin, k } = home
    const { id } = await add({ enabled: false, timezone: zone, recurrence })
    let time = from
    const enabling = another(home, () => time)
    await enabling.app.request(`/api/v1/schedules/${id}`, {
      body: JSON.stringify({ enabled: true }),
      headers: { authorization: `Bearer ${admin.token}` },
      method: 'PATCH',
    })
    await enabling.stop()
    const looks = starts.flatMap((start) => [-60, 0, 30, 3600].map((s) => Date.parse(`${start}:00.000Z`) + s * 1000))
    for (const at of looks) {
      time = new Date(at).toISOString()
      // A new controller each time, and two at once.
      const [one, two] = [another(home, () => time), another(home, () => time)]
      await Promise.all([one.ticker.run('schedule'), two.ticker.run('schedule'), one.ticker.run('schedule')])
      await Promise.all([one.stop(), two.stop()])
      k.sql("UPDATE recording_jobs SET status = 'completed'")
    }
    assert.deepEqual(
      k
        .rows<{ at: string }>('SELECT recorded_at AS at FROM recordings ORDER BY recorded_at')
        .map((r) => r.at.slice(0, 16)),
      starts,
    )
    assert.equal(k.rows('SELECT 1 FROM schedule_runs').length, takes(k).length)
    await k.close()
  })
