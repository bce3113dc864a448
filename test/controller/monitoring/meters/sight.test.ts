import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserPrincipal } from '../../../../src/controller/http/principal.ts'
import {
  canHear,
  channelVisibility,
  type Layout,
  visibleFrame,
} from '../../../../src/controller/monitoring/meters/channelvisibility.rules.ts'
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
const principal = (more: Partial<UserPrincipal> = {}): UserPrincipal => ({
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

const levels = (person: UserPrincipal, on = layout): number[] | undefined => {
  const seen = channelVisibility(person, 'node:read', on)
  return seen && visibleFrame(frame('n1', 'i1', 3), seen).levels.map((l) => l.channelIndex)
}
const audible = (person: UserPrincipal, on = layout): boolean =>
  canHear(channelVisibility(person, 'listen:monitor', on), on)

for (const [why, person, seen, heard] of [
  ['nothing granted', principal(), undefined, false],
  ['a grant on the node', principal({ allow: pairs('node n1') }), [1, 2, 3], true],
  ['a grant on the site', principal({ allow: pairs('site North') }), [1, 2, 3], true],
  ['a grant on everything', principal({ allow: pairs('* *') }), [1, 2, 3], true],
  ['owner', principal({ roles: ['owner'] }), [1, 2, 3], true],
  ['a grant on one room', principal({ allow: pairs('room hall') }), [1], false],
  ['a grant on every room', principal({ allow: pairs('room hall', 'room booth') }), [1, 2], true],
  ['a seat in one room', principal({ permissions: new Set(), rooms: rooms(['booth', 'view']) }), [2], false],
  [
    'a seat that listens, in every room',
    principal({ permissions: new Set(), rooms: rooms(['hall', 'listen'], ['booth', 'listen']) }),
    undefined,
    true,
  ],
  ['owner, denied the node', principal({ roles: ['owner'], deny: pairs('node n1') }), undefined, false],
  ['owner, denied one room', principal({ roles: ['owner'], deny: pairs('room hall') }), undefined, false],
  ['owner, denied one interface', principal({ roles: ['owner'], deny: pairs('interface i1') }), [], false],
  ['owner, denied one channel', principal({ roles: ['owner'], deny: pairs('channel i1:2') }), [1], false],
  ['owner, denied something else', principal({ roles: ['owner'], deny: pairs('node n9') }), [1, 2, 3], true],
] as const)
  test(`${why}: levels ${seen ?? 'none'}, ${heard ? 'audible' : 'not audible'}`, () => {
    assert.deepEqual(levels(person), seen)
    assert.equal(audible(person), heard)
  })

test('a channel without a room keeps the mix from those who have only rooms', () => {
  const open = { ...layout, channels: [...layout.channels, { interfaceId: 'i2', index: 1, roomId: null }] }
  const person = principal({ allow: pairs('room hall', 'room booth') })
  assert.equal(audible(person, open), false)
  assert.deepEqual(levels(person, open), [1, 2])
})

test('a node without channels is in its default room', () => {
  const bare = { ...layout, channels: [], roomId: 'hall' }
  assert.equal(audible(principal({ allow: pairs('room hall') }), bare), true)
  assert.equal(audible(principal({ allow: pairs('room booth') }), bare), false)
})
