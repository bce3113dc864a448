import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dateOf, dayNumber, isZone, zone } from '../../src/kernel/zones.ts'

const at = (name: string, date: string, time: string): string => {
  const [hour = 0, minute = 0] = time.split(':').map(Number)
  return new Date(zone(name).at(dayNumber(date), hour * 60 + minute)).toISOString()
}

test('a wall time is the instant at which the clock of the zone shows it', () => {
  assert.equal(at('Europe/Berlin', '2026-01-15', '09:00'), '2026-01-15T08:00:00.000Z')
  assert.equal(at('Europe/Berlin', '2026-07-15', '09:00'), '2026-07-15T07:00:00.000Z')
  assert.equal(at('Asia/Kathmandu', '2026-07-15', '00:00'), '2026-07-14T18:15:00.000Z')
  assert.equal(at('Pacific/Kiritimati', '2026-01-01', '00:00'), '2025-12-31T10:00:00.000Z')
  assert.equal(at('America/St_Johns', '2026-01-01', '23:59'), '2026-01-02T03:29:00.000Z')
})

test('in a gap it is the first valid instant, whatever the size of the gap', () => {
  // Berlin: 02:00 is 03:00. Lord Howe: 02:00 is 02:30. Cairo: midnight is 01:00. Nuuk's neighbour: 23:00 is midnight.
  assert.equal(at('Europe/Berlin', '2026-03-29', '02:00'), '2026-03-29T01:00:00.000Z')
  assert.equal(at('Europe/Berlin', '2026-03-29', '02:30'), '2026-03-29T01:00:00.000Z')
  assert.equal(at('Europe/Berlin', '2026-03-29', '03:00'), '2026-03-29T01:00:00.000Z')
  assert.equal(at('Australia/Lord_Howe', '2026-10-04', '02:15'), '2026-10-03T15:30:00.000Z')
  assert.equal(at('Africa/Cairo', '2026-04-24', '00:30'), '2026-04-23T22:00:00.000Z')
  assert.equal(at('America/Scoresbysund', '2026-03-28', '23:30'), '2026-03-29T01:00:00.000Z')
})

test('of a time that comes twice it is the earlier', () => {
  assert.equal(at('Europe/Berlin', '2026-10-25', '02:30'), '2026-10-25T00:30:00.000Z')
  assert.equal(at('Australia/Lord_Howe', '2026-04-05', '01:45'), '2026-04-04T14:45:00.000Z')
  assert.equal(at('America/New_York', '2026-11-01', '01:00'), '2026-11-01T05:00:00.000Z')
})

test('a date that a zone left out is known: Samoa went from the 29th to the 31st', () => {
  const apia = zone('Pacific/Apia')
  const days = ['2011-12-29', '2011-12-30', '2011-12-31'].map((date) => apia.hasDay(dayNumber(date)))
  assert.deepEqual(days, [true, false, true])
  assert.equal(dateOf(apia.dayOf(Date.parse('2011-12-30T09:59:59.999Z'))), '2011-12-29')
  assert.equal(dateOf(apia.dayOf(Date.parse('2011-12-30T10:00:00.000Z'))), '2011-12-31')
  assert.equal(at('Pacific/Apia', '2011-12-31', '00:00'), '2011-12-30T10:00:00.000Z')
})

test('names are zones, offsets and inventions are not', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'Etc/GMT+5']) assert.ok(isZone(name), name)
  for (const name of ['', '+02:00', '-0500', 'Mars/Olympus', 'Europe/Berlin ', '../UTC']) assert.ok(!isZone(name), name)
})

test('every wall time of two years, in zones of every kind, is shown by its instant or lies in a gap', () => {
  const zones = ['UTC', 'Europe/Berlin', 'Europe/Dublin', 'Africa/Casablanca', 'Australia/Lord_Howe', 'Asia/Tehran']
  for (const name of [...zones, 'America/Havana', 'Pacific/Chatham', 'Asia/Beirut', 'America/Asuncion']) {
    const z = zone(name)
    for (let day = dayNumber('2023-01-01'); day < dayNumber('2025-01-01'); day++)
      for (const minute of [0, 30, 90, 150, 165, 720, 1439]) {
        const wall = (day * 1440 + minute) * 60_000
        const ms = z.at(day, minute)
        const shown = ms + z.offset(ms)
        // In a gap the clock shows more, and one second before it showed less.
        const gap = shown > wall && ms - 1000 + z.offset(ms - 1000) < wall
        assert.ok(shown === wall || gap, `${name} ${dateOf(day)} ${minute}`)
        assert.ok(ms - 7_200_000 + z.offset(ms - 7_200_000) !== wall, 'never the later of two')
      }
  }
})
