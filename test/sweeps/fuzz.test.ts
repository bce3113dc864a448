// Anything at all, thrown at every route: answers are answers, never a 5xx, and the controller goes on.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import * as z from 'zod'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { EXPANDS, seed, targetType, thing, things } from '../conventions/world.ts'
import { type Answer, type Kit, kit } from '../kit/kit.ts'
import { shareOf, TURN } from '../kit/turn.ts'
import { GOOD, peerless } from './sweep.ts'

/** `FUZZ_REQUESTS=20000 FUZZ_SEED=7 scripts/node --test test/sweeps/fuzz.test.ts` */
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? shareOf(20_000))
const SEED = Number(process.env.FUZZ_SEED ?? 20_26 + TURN)
/** A world in which this many requests have raged is replaced. */
const WORLD = 1000
const RUNNER = 'runner-token-0123456789'

/** Mulberry32: the same seed, the same requests. */
function dice(state: number) {
  let at = state >>> 0
  const next = (): number => {
    at = (at + 0x6d2b79f5) >>> 0
    let t = at
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n: number): number => Math.floor(next() * n)
  return {
    below,
    chance: (p: number): boolean => next() < p,
    of: <T>(values: readonly T[]): T => values[below(values.length)] as T,
  }
}
type Dice = ReturnType<typeof dice>

const TEXTS = [
  '',
  ' ',
  'x',
  'n1',
  'hall',
  '*',
  '%',
  '_',
  "'",
  '"',
  '\\',
  '\u0000',
  '\ud800',
  'İ',
  '🎙️',
  '試験',
  '../..',
  'null',
  '-1',
  '1e99',
  '2026-02-30',
  '2026-11-21T00:00:00Z',
  'Europe/Berlin',
  'Nowhere/Land',
  '99:99',
  'a'.repeat(300),
  'a'.repeat(5000),
]
const NUMBERS = [0, 1, -1, 2, 0.5, 24, 500, 501, 2 ** 31, 2 ** 53, -(2 ** 53), 1e308]
const IDS = Object.keys(EXPANDS).map((name) => thing(name).id)

function value(d: Dice, depth = 0): unknown {
  const kind = d.below(depth > 2 ? 5 : 7)
  if (kind === 0) return d.of(TEXTS)
  if (kind === 1) return d.of(NUMBERS)
  if (kind === 2) return d.of([true, false, null])
  if (kind < 5) return d.of(IDS)
  if (kind === 5) return Array.from({ length: d.below(4) }, () => value(d, depth + 1))
  return Object.fromEntries(Array.from({ length: d.below(4) }, () => [d.of(TEXTS), value(d, depth + 1)]))
}

/** A copy with one place changed, dropped or added. */
function mutated(d: Dice, of: unknown): unknown {
  if (typeof of !== 'object' || of === null || d.chance(0.15)) return value(d)
  const keys = Object.keys(of)
  if (keys.length === 0 || d.chance(0.1))
    return Array.isArray(of) ? [...of, value(d)] : { ...of, [d.of(TEXTS)]: value(d) }
  const key = d.of(keys)
  const copy: Record<string, unknown> = Array.isArray(of) ? ([...of] as never) : { ...of }
  if (d.chance(0.15)) delete copy[key]
  else copy[key] = d.chance(0.5) ? mutated(d, copy[key]) : value(d)
  return copy
}

interface Schema {
  properties?: Record<string, unknown>
}
const fields = (schema: unknown): string[] =>
  Object.keys((z.toJSONSchema(schema as z.ZodType, { io: 'input', unrepresentable: 'any' }) as Schema).properties ?? {})

function body(d: Dice, r: AnyRoute): string | Uint8Array | undefined {
  if (!r.body) return d.chance(0.5) ? undefined : Buffer.from(Array.from({ length: d.below(200) }, () => d.below(256)))
  if (d.chance(0.05)) return undefined
  if (d.chance(0.05)) return d.of(['{', '[[[[', '{"a":1}}', '\ufeff{}', '\u0000', '{"a":"\\ud800"}'])
  const good = GOOD[`${r.method} ${r.path}`] ?? {}
  let made: unknown = d.chance(0.15) ? value(d) : good
  // Sometimes fields the good body does not use.
  if (made === good && d.chance(0.4)) made = { ...good, [d.of([...fields(r.body), 'x'])]: value(d) }
  for (let n = d.below(4); n > 0; n--) made = mutated(d, made)
  return JSON.stringify(made)
}

function queryOf(d: Dice, r: AnyRoute): string {
  if (!r.query && !d.chance(0.1)) return ''
  const known = r.query ? fields(r.query) : []
  const pairs = Array.from({ length: d.below(4) }, () => {
    const name = d.of([...known, 'limit', 'unknown'])
    // A wait would be one.
    const given = name === 'waitSeconds' ? d.of(['0', 'x', '-1', '31']) : String(d.chance(0.4) ? d.of(IDS) : value(d))
    return `${encodeURIComponent(name)}=${encodeURIComponent(given.toWellFormed())}`
  })
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

const HEADERS: Record<string, string[]> = {
  'content-digest': ['sha-256=:AAAA:', 'sha-256=x', ''],
  'content-length': ['-1', '10', '99999999999'],
  'content-type': ['audio/wav', 'text/plain', 'application/json; charset=utf-7', 'x'],
  cookie: ['svc_oidc_state=abc', 'svc_oidc_state='],
  'if-none-match': ['*', '"x"'],
  'if-range': ['"x"', 'x'],
  range: ['bytes=0-', 'bytes=-1', 'bytes=9-1', 'bytes=0-1,3-4', 'x'],
  'upload-complete': ['?0', '?1', 'x'],
  'upload-length': ['0', '5', '-1', 'x'],
  'upload-offset': ['0', '5', '-1', 'x'],
  'x-svc-captured-at': ['2026-11-21T00:00:00Z', 'x'],
  'x-svc-duration-ms': ['1000', '-1', 'x'],
  'x-svc-recording-job-id': ['j1', 'j2', 'x'],
}

const headersOf = (d: Dice): Record<string, string> =>
  Object.fromEntries(
    Object.entries(HEADERS)
      .filter(() => d.chance(0.06))
      .map(([name, values]) => [name, d.of(values)]),
  )

function tokenOf(d: Dice, r: AnyRoute): string | undefined {
  const right = { bootstrap: 'svc_bs_good', node: 'svc_node_n1', none: 'svc_owner', runner: RUNNER, user: 'svc_owner' }
  if (d.chance(0.7)) return right[r.auth as keyof typeof right]
  return d.of(['svc_scoped', 'svc_viewer', 'svc_auditor', 'svc_node_n2', 'svc_node_n1', 'svc_none', 'svc_', undefined])
}

function pathOf(d: Dice, r: AnyRoute): string {
  const type = targetType(r)
  const fitting = type ? things(type).map((name) => thing(name).id) : []
  const id = (): string => {
    if (fitting.length > 0 && d.chance(0.7)) return d.of(fitting)
    return d.chance(0.6) ? d.of(IDS) : d.of(TEXTS).toWellFormed() || 'x'
  }
  return r.path.replace(/:\w+/g, () => encodeURIComponent(id()))
}

const worlds: Kit[] = []
after(() => Promise.all(worlds.map((k) => k.close())))

function world(): Kit {
  const k = kit({
    env: { SVC_LOGIN_FAILURE_LIMIT: '1000000', SVC_RUNNER_TOKEN: RUNNER, SVC_TOKEN_FAILURE_LIMIT: '1000000' },
  })
  worlds.push(k)
  seed(k)
  k.as('owner')
  k.as('viewer')
  k.as('auditor')
  k.person('scoped', ['operator'], [['room', 'hall']])
  return k
}

// A login costs a whole scrypt, and devices are asked over the network: their own tests ask those enough.
const RARE = /\/auth\/(login|logout|sessions)|switchers\/:id\/(test|restore|config-snapshot)|auth\/users/

async function send(k: Kit, d: Dice, r: AnyRoute): Promise<{ answer: Answer; told: string }> {
  const [path, query, headers] = [pathOf(d, r), queryOf(d, r), headersOf(d)]
  const sent = body(d, r)
  const told = `${r.method} ${path}${query} ${JSON.stringify(headers)} ${typeof sent === 'string' ? sent.slice(0, 300) : ''}`
  const answer = await k
    .bearer(tokenOf(d, r))
    .send(r.method, path + query, r.method === 'GET' ? undefined : sent, headers)
  return { answer, told }
}

test(`${REQUESTS} requests of any kind: no 5xx`, async () => {
  const d = dice(SEED)
  const wrong: string[] = []
  const seen = new Map<number, number>()
  let k = world()
  for (let n = 0; n < REQUESTS && wrong.length < 20; n++) {
    if (n > 0 && n % WORLD === 0) k = world()
    // Whoever was logged out or locked out by a lucky request goes on.
    if (n % 20 === 0) k.sql('UPDATE sessions SET revoked_at = NULL WHERE revoked_at IS NOT NULL')
    if (n % 20 === 0) k.sql(`DELETE FROM access_policies`)
    const r = d.of(k.routes)
    if (RARE.test(r.path) && !d.chance(0.1)) continue
    const { answer, told } = await send(k, d, r)
    seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
    if (answer.status >= 500 && !peerless(r, answer.status))
      wrong.push(`${answer.status} ${told} -> ${answer.text.slice(0, 200)} ${k.logged.at(-1)?.slice(0, 600)}`)
  }
  console.log(`answers by status: ${JSON.stringify(Object.fromEntries([...seen].sort()))}`)
  assert.deepEqual(wrong, [])
  assert.ok((seen.get(200) ?? 0) > REQUESTS / 50, 'some of it is right')
})
