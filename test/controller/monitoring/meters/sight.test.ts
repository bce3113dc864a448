import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserWho } from '../../../../src/controller/http/who.ts'
import { hears, type Layout, seenFrame, sight } from '../../../../src/controller/monitoring/meters/sight.rules.ts'
import { frame } from './frames.ts'

const layout: Layout = {
  nodeId: 'n1',
  site: 'North',
  roomId: null,
  sites: new Map([
    ['hall', 'North'],
    ['booth', 'North'],
  ]),
  interfaceId: 'i1',
  channels: [
    { interfaceId: 'i1', index: 1, roomId: 'hall' },
    { interfaceId: 'i1', index: 2, roomId: 'booth' },
  ],
}

const pairs = (...texts: string[]) =>
  texts.map((t) => ({ type: t.split(' ')[0] as string, id: t.split(' ')[1] as string }))
const who = (more: Partial<UserWho> = {}): UserWho => ({
  kind: 'user',
  allow: [],
  deny: [],
  email: 'a@example.org',
  id: 'a',
  name: 'a',
  permissions: new Set(['node:read', 'listen:monitor']),
  roles: ['operator'],
  rooms: new Map(),
  sessionId: 's',
  ...more,
})
const rooms = (...named: [string, string][]) => new Map(named.map(([id, capability]) => [id, new Set([capability])]))

const levels = (person: UserWho, on = layout): number[] | undefined => {
  const seen = sight(person, 'node:read', on)
  return seen && seenFrame(frame('n1', 'i1', 3), seen).levels.map((l) => l.channelIndex)
}
const audible = (person: UserWho, on = layout): boolean => hears(sight(person, 'listen:monitor', on), on)

for (const [why, person, seen, heard] of [
  ['nothing granted', who(), undefined, false],
  ['a grant on the node', who({ allow: pairs('node n1') }), [1, 2, 3], true],
  ['a grant on the site', who({ allow: pairs('site North') }), [1, 2, 3], true],
  ['a grant on everything', who({ allow: pairs('* *') }), [1, 2, 3], true],
  ['owner', who({ roles: ['owner'] }), [1, 2, 3], true],
  ['a grant on one room', who({ allow: pairs('room hall') }), [1], false],
  ['a grant on every room', who({ allow: pairs('room hall', 'room booth') }), [1, 2], true],
  ['a seat in one room', who({ permissions: new Set(), rooms: rooms(['booth', 'view']) }), [2], false],
  [
    'a seat that listens, in every room',
    who({ permissions: new Set(), rooms: rooms(['hall', 'listen'], ['booth', 'listen']) }),
    undefined,
    true,
  ],
  ['owner, denied the node', who({ roles: ['owner'], deny: pairs('node n1') }), undefined, false],
  ['owner, denied one room', who({ roles: ['owner'], deny: pairs('room hall') }), undefined, false],
  ['owner, denied one interface', who({ roles: ['owner'], deny: pairs('interface i1') }), [], false],
  ['owner, denied one channel', who({ roles: ['owner'], deny: pairs('channel i1:2') }), [1], false],
  ['owner, denied something else', who({ roles: ['owner'], deny: pairs('node n9') }), [1, 2, 3], true],
] as const)
  test(`${why}: levels ${seen ?? 'none'}, ${heard ? 'audible' : 'not audible'}`, () => {
    assert.deepEqual(levels(person), seen)
    assert.equal(audible(person), heard)
  })

test('a channel without a room keeps the mix from those who have only rooms', () => {
  const open = { ...layout, channels: [...layout.channels, { interfaceId: 'i2', index: 1, roomId: null }] }
  const person = who({ allow: pairs('room hall', 'room booth') })
  assert.equal(audible(person, open), false)
  assert.deepEqual(levels(person, open), [1, 2])
})

test('a node without channels is in its default room', () => {
  const bare = { ...layout, channels: [], roomId: 'hall' }
  assert.equal(audible(who({ allow: pairs('room hall') }), bare), true)
  assert.equal(audible(who({ allow: pairs('room booth') }), bare), false)
})
