// openapi.json is true: what every route really answers is held against what the document says of it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import * as z from 'zod'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { mounted } from '../../src/controller/http/serve.ts'
import type { Answer } from '../kit/kit.ts'
import { attempt, good, k, line, raw } from './sweep.ts'

type Json = Record<string, unknown>
interface Response {
  $ref?: string
  content?: Record<string, { schema?: Json }>
}
interface Operation {
  responses: Record<string, Response>
  summary: string
  'x-also'?: Operation[]
}

const document = JSON.parse(readFileSync(path.resolve(import.meta.dirname, '../../openapi.json'), 'utf8')) as {
  components: { responses: Record<string, Response>; schemas: Json }
  paths: Record<string, Record<string, Operation>>
}

/** Nothing beside what is named: an answer with more than the document says is a document with too little. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([name, one]) => [name, closed(one)]))
  return inner.type === 'object' && inner.properties && !('additionalProperties' in inner)
    ? { ...inner, additionalProperties: false }
    : inner
}
const rewired = (schema: unknown): Json =>
  JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')) as Json
const named = rewired(closed(document.components.schemas))
// Errors may say more: which channels are busy, who is unknown.
const errors = rewired(document.components.schemas)

const known = new Map<string, z.ZodType>()
function checkerOf(schema: Json, strict: boolean): z.ZodType {
  const key = `${strict} ${JSON.stringify(schema)}`
  const made =
    known.get(key) ??
    z.fromJSONSchema({ ...rewired(strict ? closed(schema) : schema), $defs: strict ? named : errors } as never)
  known.set(key, made)
  return made
}

function operationOf(r: AnyRoute): Operation {
  const first = document.paths[mounted(r.path).replace(/:(\w+)/g, '{$1}')]?.[r.method.toLowerCase()]
  assert.ok(first, line(r))
  return first
}

/** What the document does not say of an answer; empty when it is as described. */
function untold(r: AnyRoute, { json, status, text }: Answer): string[] {
  const { responses } = operationOf(r)
  const found = responses[status] ?? (status >= 400 ? responses.default : undefined)
  if (!found) return [`${line(r)} answers ${status}, which is not in the document`]
  const { content } = found.$ref ? (document.components.responses[found.$ref.split('/').at(-1) ?? ''] ?? {}) : found
  if (!content) return text === '' ? [] : [`${line(r)} answers ${status} with a body: ${text.slice(0, 100)}`]
  const schema = content['application/json']?.schema
  if (!schema) return []
  const checked = checkerOf(schema, status < 400).safeParse(json)
  return checked.success ? [] : [`${line(r)} ${status}: ${z.prettifyError(checked.error)} in ${text.slice(0, 300)}`]
}

const asked = (r: AnyRoute) => (r.body ? raw(JSON.stringify(good(r)), 'its good body') : { what: 'nothing' })
const routes = k.routes.filter((r) => r.auth !== 'display' && r.auth !== 'scraper')

test('every success is one the document has, with exactly the members it names', async () => {
  const wrong: string[] = []
  let succeeded = 0
  for (const r of routes) {
    const { answer } = await attempt(r, asked(r))
    if (answer.status < 400) succeeded++
    wrong.push(...untold(r, answer))
  }
  assert.deepEqual(wrong, [])
  assert.ok(succeeded > 150, `${succeeded} successes`)
})

test('every refusal has the shape the document gives it: of strangers, of what is missing, of what is malformed', async () => {
  const wrong: string[] = []
  const seen = new Set<number>()
  for (const r of routes) {
    const missing = r.path.replaceAll(/:\w+/g, 'no-such-thing')
    const cases = [
      { headers: { authorization: 'Bearer svc_nobody' }, what: 'no credential' },
      { ...asked(r), path: missing, what: 'an id that is none' },
      ...(r.body ? [raw('{"surplus":[]}', 'a field that is none'), raw('{', 'half a body')] : []),
      ...(r.query ? [{ query: '?limit=x&nonsense=1', what: 'a bad filter' }] : []),
    ]
    for (const sent of cases) {
      const { answer } = await attempt(r, sent)
      seen.add(answer.status)
      wrong.push(...untold(r, answer))
    }
  }
  assert.deepEqual(wrong.slice(0, 40), [])
  for (const status of [400, 401, 404, 409]) assert.ok(seen.has(status), `no answer was ${status}`)
})
