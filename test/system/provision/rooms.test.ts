import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { roomOf, roomsOf, ttlOf } from '../../../src/system/provision/rooms.rules.ts'

const HALL = { alias: 'Hall recorder', site: 'North', room: 'Hall' }

test('a room is named in one argument, and may say which box it is for', () => {
  assert.deepEqual(roomOf('Hall recorder; North ;Hall'), HALL)
  assert.deepEqual(roomOf('Hall recorder;North;Hall;hostname=hall-1;mac=00:11:22:AA:BB:CC;serial=X 9'), {
    ...HALL,
    hostname: 'hall-1',
    match: { hostname: 'hall-1', mac: '00:11:22:aa:bb:cc', serial: 'X 9' },
  })
  for (const [text, why] of [
    ['Hall', /site, room is missing/],
    [';North;Hall', /alias is missing/],
    ['Hall;North;Hall;color=red', /not hostname=/],
    ['Hall;North;Hall;mac=12', /: mac: expected a hardware address such as 00:11:22:aa:bb:cc\.$/],
    [`${'x'.repeat(161)};North;Hall`, /alias: Too big/],
  ] as const)
    assert.throws(
      () => roomOf(text),
      (e) => e instanceof UserError && why.test(e.message),
    )
})

test('a table is read as spreadsheets save it', () => {
  const wanted = [HALL, { alias: 'The "big" one, left', site: 'South', room: 'A;B', match: { serial: 'S1' } }]
  const comma = 'alias,site,room,serial\nHall recorder,North,Hall,\n\n"The ""big"" one, left",South,A;B,S1\n'
  assert.deepEqual(roomsOf(comma), wanted)
  const semicolon =
    '\uFEFFAlias;Site;Room;Serial\r\nHall recorder;North;Hall\r\n"The ""big"" one, left";South;"A;B";S1\r\n'
  assert.deepEqual(roomsOf(semicolon), wanted)
  assert.deepEqual(roomsOf('node\tmac\nnode_1\t00:11:22:33:44:55'), [
    { nodeId: 'node_1', match: { mac: '00:11:22:33:44:55' } },
  ])
  for (const [table, why] of [
    ['name,site,room\nA,B,C', /"name" is not one of alias/],
    ['alias,site,room\nA,B,C,D', /Line 2 has more cells/],
    ['alias,site,room\nA,B', /Line 2: room is missing/],
    ['alias,site,room\n"A,B,C', /Line 2 has a quote/],
    ['alias,site,room\nA "x",B,C', /Line 2 has a quote/],
  ] as const)
    assert.throws(
      () => roomsOf(table),
      (e) => e instanceof UserError && why.test(e.message),
      table,
    )
})

test('a time to live is a day at most', () => {
  assert.deepEqual(['15m', '4h', '24h', '900s', '900', '86400'].map(ttlOf), [900, 14_400, 86_400, 900, 900, 86_400])
  for (const text of ['0', '25h', '', '1d', '-5', '1.5h', '86401']) assert.throws(() => ttlOf(text), /1s to 24h/)
})
