// What leaves a site: no secret whatever its shape, no name whatever its case, the same word for the same thing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Named, NameHider, withoutSecrets } from '../../src/doctor/hide.rules.ts'

test('known secrets go, longest first, and what looks like one', () => {
  const known = ['hunter2hunter2', 'hunter2hunter2-longer']
  const hidden = (text: string): string => withoutSecrets(text, known)
  assert.equal(hidden('a hunter2hunter2-longer b hunter2hunter2 c'), 'a [redacted] b [redacted] c')
  for (const text of [
    'Bearer abcdefgh.ijkl',
    'svc_node_0123456789abcdef',
    'svc_Session0123456789',
    '{"token":"tok-1"}',
    String.raw`{"body":"{\"password\":\"tok-1\"}"}`,
    'password=tok-1',
    '--pairing-code tok-1',
    'secret: tok-1',
    'https://user:tok-1@host/x',
    'AKIAABCDEFGHIJKLMNOP',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'Qk3v9Zr1Lx8Tn4Wp7Ys2Bd6Fg5Hj0Mc1Ka9Ve3Ru7Ei',
    '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----',
  ])
    assert.match(hidden(text), /\[redacted\]/, text)
  for (const text of [
    'a3f5c1b2a3f5c1b2a3f5c1b2a3f5c1b2a3f5c1b2a3f5c1b2a3f5c1b2a3f5c1b2',
    'node_3f2504e0-4f89-11d3-9a0c-0305e82c3301',
    'node_lifecycle_3f2504e0-4f89-11d3-9a0c-0305e82c3301',
    '/var/lib/roomtone/agent/data/agent/takes/job_3f2504e0-4f89-11d3-9a0c-0305e82c3301/take.wav',
    'the token was refused',
    'no password is set',
  ])
    assert.equal(hidden(text), text)
  assert.equal(hidden('to ann.lee+x@mail.example.org, please'), 'to [e-mail], please')
})

const NAMED: Named[] = [
  { id: 'user-1', kind: 'person', name: 'Ann Lee' },
  { id: 'room-a', kind: 'room', name: 'Hall' },
  { id: 'room-b', kind: 'room', name: 'Hall of Fame' },
  { kind: 'site', name: 'North' },
  { kind: 'place', name: 'hall' },
  { kind: 'schedule', name: '"Vesper" & more' },
  { kind: 'name', name: 'controller' },
  { kind: 'name', name: 'x' },
]

test('a name is one word everywhere, whole words only, the longest first', () => {
  const hider = new NameHider(NAMED)
  assert.equal(
    hider.hidden('HALL OF FAME, Hall, halls, shall; ann lee in north-hall'),
    'room-2, room-1, halls, shall; person-1 in site-1-room-1',
  )
  const logged = JSON.stringify({ message: 'begins "Vesper" & more at North' })
  assert.equal(hider.hidden(logged), '{"message":"begins \\"schedule-1 at site-1"}')
  assert.equal(hider.hidden('the controller says x'), 'the controller says x')
  assert.equal(hider.table, 'person-1\tuser-1\nroom-1\troom-a\nroom-2\troom-b\n')
})

test('many names cost little, and odd letters do no harm', () => {
  const many = Array.from({ length: 50_000 }, (_, n): Named => ({ kind: 'recording', name: `Take ${n} of the Ärzte` }))
  const hider = new NameHider([...many, { kind: 'room', name: 'İstanbul' }])
  const text = 'take 49999 of the ärzte; nothing else\n'.repeat(20_000)
  assert.equal(hider.hidden(text), 'recording-50000; nothing else\n'.repeat(20_000))
  assert.equal(hider.hidden('İSTANBUL calling').includes('stanbul'), false)
  assert.equal(new NameHider([]).hidden(text), text)
})
