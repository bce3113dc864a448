import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { parseSetupFile } from '../../../src/system/provision/setupfile.rules.ts'
import { SETUP_FILE_MAX, SetupFile } from '../../../src/wire/provision.ts'
import { bytesOf, dice, entryOf, fileOf, tokenOf } from './kit.ts'

const good = fileOf([entryOf(1), entryOf(2, { match: { mac: '00:11:22:aa:bb:cc' } })], { writeBack: true })

const words = (bytes: Uint8Array): string => {
  try {
    parseSetupFile(bytes)
    return 'accepted'
  } catch (e) {
    assert.ok(e instanceof UserError, `not a refusal: ${e}`)
    return e.message
  }
}

test('a good file is taken as it is, with and without a byte order mark, with line ends of any editor', () => {
  const text = JSON.stringify(good, null, 2)
  for (const form of [text, `\uFEFF${text}`, text.replaceAll('\n', '\r\n'), ` \n${text}\n\n`])
    assert.deepEqual(parseSetupFile(Buffer.from(form)), good)
  const { allowInsecure, replace, writeBack, ...short } = good
  assert.deepEqual(parseSetupFile(bytesOf(short)), { ...good, allowInsecure: false, replace: false, writeBack: false })
})

test('each fault has its own words, which hold no token', () => {
  const [first] = good.nodes
  const bad: [unknown, RegExp][] = [
    [{ ...good, version: 2 }, /version: .*1/],
    [{ ...good, replce: true }, /replce/],
    [{ ...good, controllerUrl: 'http://controller.example' }, /controllerUrl: .*allowInsecure/],
    [{ ...good, controllerUrl: 'ftp://controller.example' }, /controllerUrl: .*https/],
    [{ ...good, controllerUrl: 'https://controller.example\nLD_PRELOAD=/x' }, /controllerUrl: .*https/],
    [{ ...good, controllerUrl: 'https://me:word@controller.example' }, /user name or password/],
    [{ ...good, controllerCa: '-----BEGIN PRIVATE KEY-----' }, /controllerCa: .*PEM/],
    [{ ...good, nodes: [{ ...first, bootstrapToken: `${tokenOf(1)}!` }] }, /nodes\[0\]\.bootstrapToken: .*svc_bs_/],
    [{ ...good, nodes: [{ ...first, nodeId: '../../etc' }] }, /nodes\[0\]\.nodeId/],
    [{ ...good, nodes: [{ ...first, alias: 'a\u0000b' }] }, /nodes\[0\]\.alias: .*control characters/],
    [{ ...good, nodes: [{ ...first, exec: '/bin/sh' }] }, /exec/],
    [{ ...good, nodes: [{ ...first, match: {} }] }, /hostname, mac or serial/],
    [{ ...good, nodes: [{ ...first, match: { mac: 'nonsense' } }] }, /hardware address/],
    [{ ...good, nodes: Array.from({ length: 65 }, (_, i) => entryOf(i)) }, /nodes: /],
    [[], /not a setup file/],
    [null, /not a setup file/],
  ]
  for (const [value, expected] of bad) {
    const said = words(bytesOf(value))
    assert.match(said, expected)
    assert.ok(!said.includes('svc_bs_b') && !said.includes('000bbb'), said)
  }
  assert.match(words(Buffer.alloc(0)), /is empty/)
  assert.match(words(Buffer.from(JSON.stringify(good).slice(0, -20))), /is damaged/)
  assert.match(words(Buffer.from([0x7b, 0xff, 0xfe, 0x7d])), /is damaged/)
  assert.match(words(Buffer.alloc(SETUP_FILE_MAX + 1, ' ')), /larger than 64 KiB/)
  assert.match(words(Buffer.from('['.repeat(SETUP_FILE_MAX))), /is damaged/)
})

const STRANGE = [
  null,
  true,
  -1,
  1e308,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '../x',
  [],
  {},
  [[[]]],
  'x'.repeat(3000),
  '__proto__',
]

/** The value with one thing in it changed, left out or added. */
function disturbed(value: unknown, roll: (below: number) => number): unknown {
  if (typeof value !== 'object' || value === null || roll(5) === 0) return STRANGE[roll(STRANGE.length)]
  if (Array.isArray(value)) {
    const at = roll(value.length + 1)
    return [...value.slice(0, at), disturbed(value[at], roll), ...value.slice(at + 1)]
  }
  const keys = Object.keys(value)
  const key = keys[roll(keys.length + 1)] ?? `x${roll(9)}`
  const { [key]: before, ...rest } = value as Record<string, unknown>
  return roll(4) === 0 ? rest : { ...rest, [key]: disturbed(before, roll) }
}

test('ten thousand damaged files: each is refused in words, or the schema itself accepts it', () => {
  const roll = dice(20261121)
  const bytes = bytesOf(good)
  let accepted = 0
  const judge = (given: Uint8Array): void => {
    const said = words(given)
    if (said !== 'accepted') return
    accepted++
    assert.ok(SetupFile.safeParse(JSON.parse(new TextDecoder().decode(given))).success)
  }
  for (let i = 0; i < 4000; i++) judge(bytesOf(disturbed(disturbed(good, roll), roll)))
  for (let i = 0; i < 4000; i++) {
    const flipped = Buffer.from(bytes)
    for (let n = roll(4) + 1; n > 0; n--) flipped[roll(flipped.length)] = roll(256)
    judge(flipped)
  }
  for (let i = 0; i < 2000; i++) judge(Buffer.from(Array.from({ length: roll(300) }, () => roll(256))))
  // Some bytes of a name may change without harm; most changes must not pass.
  assert.ok(accepted > 0 && accepted < 3000, `${accepted} of 10000 were accepted`)
})
