// Requests of any kind, made of the list of routes: right ones, nearly right ones, and anything at all.

import * as z from 'zod'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { EXPANDS, targetType, thing, things } from '../conventions/world.ts'
import { mulberry32 } from '../kit/random.ts'
import { GOOD } from './sweep.ts'

/** The lifecycle runner's token. */
export const RUNNER = 'runner-token-0123456789'

/** The same seed, the same requests. */
export function dice(seed: number) {
  const next = mulberry32(seed)
  const below = (n: number): number => Math.floor(next() * n)
  return {
    below,
    chance: (p: number): boolean => next() < p,
    of: <T>(values: readonly T[]): T => values[below(values.length)] as T,
  }
}
export type Dice = ReturnType<typeof dice>

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

/** Anything that JSON can say. */
export function value(d: Dice, depth = 0): unknown {
  const kind = d.below(depth > 2 ? 5 : 7)
  if (kind === 0) return d.of(TEXTS)
  if (kind === 1) return d.of(NUMBERS)
  if (kind === 2) return d.of([true, false, null])
  if (kind < 5) return d.of(IDS)
  if (kind === 5) return Array.from({ length: d.below(4) }, () => value(d, depth + 1))
  return Object.fromEntries(Array.from({ length: d.below(4) }, () => [d.of(TEXTS), value(d, depth + 1)]))
}

/** A copy with one place changed, dropped or added. */
export function mutated(d: Dice, of: unknown): unknown {
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

// A login costs a whole scrypt, and devices are asked over the network: their own tests ask those enough.
export const RARE = /\/auth\/(login|logout|sessions)|switchers\/:id\/(test|restore|config-snapshot)|auth\/users/

export interface Made {
  body: string | Uint8Array | undefined
  headers: Record<string, string>
  method: string
  /** Below `/api/v1`, with its query. */
  path: string
  token: string | undefined
}

/** The next request for a route. */
export function requestFor(d: Dice, r: AnyRoute): Made {
  const [path, query, headers] = [pathOf(d, r), queryOf(d, r), headersOf(d)]
  const sent = body(d, r)
  return {
    body: r.method === 'GET' ? undefined : sent,
    headers,
    method: r.method,
    path: path + query,
    token: tokenOf(d, r),
  }
}

/** In words, for a finding. */
export const inWords = ({ body, headers, method, path }: Made): string =>
  `${method} ${path} ${JSON.stringify(headers)} ${typeof body === 'string' ? body.slice(0, 300) : ''}`
