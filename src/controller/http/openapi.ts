import * as z from 'zod'
import { assetBytes } from '../../kernel/assets.ts'
import { type AnyRoute, type Auth, stream } from './route.ts'
import { mounted } from './serve.ts'

type Json = Record<string, unknown>

const JSON_TYPE = 'application/json'

type Scheme = [name: string, words: string, cookie?: string]

const SCHEMES: Record<Exclude<Auth, 'none'>, Scheme> = {
  user: ['session', 'Session token of a login (`svc_...`)'],
  display: ['screen', 'The cookie of a screen on a wall; over HTTPS `__Host-svc_display`', 'svc_display'],
  node: ['node', 'Controller token of a node (`svc_node_...`)'],
  bootstrap: ['bootstrap', 'Single-use bootstrap token of one node (`svc_bs_...`)'],
  runner: ['runner', 'The shared token of the lifecycle runner'],
  scraper: ['scraper', 'The static token of the monitoring system'],
}
const COOKIE: Scheme = [
  'cookie',
  'The session of the console, for pages of this origin alone; over HTTPS `__Host-svc_session`',
  'svc_session',
]

const text = { type: 'string' }
const ISSUE = { type: 'object', properties: { code: text, message: text, path: { type: 'array', items: {} } } }
const errorOf = (more: Json, required: string[] = []): Json => ({
  type: 'object',
  required: ['error', ...required],
  properties: { error: { ...text, description: 'For people; may change' }, ...more },
})
const reason = { ...text, description: 'For programs: docs/reasons.md has them all' }
/** Bodies of errors (docs/contract/api.md: Errors); some have further members. */
const ERROR_SCHEMAS = {
  Denied: errorOf({ message: text, permission: text, reason }),
  Error: errorOf({ issues: { type: 'array', items: ISSUE }, message: text, permission: text, reason }),
  Invalid: errorOf({ issues: { type: 'array', items: ISSUE }, reason }, ['issues']),
  Missing: errorOf({}),
  Refused: errorOf({ reason }, ['reason']),
}
const ERRORS: Record<string, [words: string, schema: keyof typeof ERROR_SCHEMAS]> = {
  400: ['The request fails validation', 'Invalid'],
  401: ['No or invalid credential', 'Denied'],
  403: ['Permission or scope is missing', 'Denied'],
  404: ['Missing, or out of scope', 'Missing'],
  409: ['The state does not allow it', 'Refused'],
  413: ['The body is too large', 'Error'],
  429: ['Too many requests or refused attempts: see Retry-After', 'Refused'],
  500: ['Internal server error', 'Error'],
  503: ['The database is unavailable', 'Error'],
  default: ['Any other refusal', 'Error'],
}

/** What routes answer, known from their types: made when docs/ is (test/conventions/api.answers.ts). */
interface AnswerSchemas {
  components: Record<string, Json>
  of(r: AnyRoute): Json | undefined
  /** Every reason of a refusal. */
  reasons: Json[]
}
const UNKNOWN: AnswerSchemas = { components: {}, of: () => undefined, reasons: [] }

/** The OpenAPI 3.1 document of these records, as plain JSON. */
export function openapi(routes: readonly AnyRoute[], version: string, answers: AnswerSchemas = UNKNOWN): Json {
  const paths: Record<string, Record<string, Json>> = {}
  // By path: the order in which modules are created means nothing to a reader.
  for (const r of routes.toSorted(byPath)) {
    const path = mounted(r.path).replace(/:(\w+)(?:\{[^}]*\})?/g, '{$1}')
    const item = paths[path] ?? {}
    paths[path] = item
    const method = r.method.toLowerCase()
    item[method] = item[method] ? mergeOperations(item[method], operation(r, answers)) : operation(r, answers)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Roomtone controller', version },
    servers: [{ url: '/' }],
    'x-reasons': answers.reasons,
    paths,
    components: {
      responses: Object.fromEntries(
        Object.entries(ERRORS).map(([status, [words, of]]) => [keyOf(status), failure(words, of)]),
      ),
      schemas: { ...answers.components, ...ERROR_SCHEMAS },
      securitySchemes: Object.fromEntries([...Object.values(SCHEMES), COOKIE].map(schemeOf)),
    },
  }
}

const keyOf = (status: string): string => (status === 'default' ? 'Default' : `E${status}`)

const schemeOf = ([name, description, cookie]: Scheme): [string, Json] => [
  name,
  cookie
    ? { type: 'apiKey', in: 'cookie', name: cookie, description }
    : { type: 'http', scheme: 'bearer', description },
]

/** A person's session is a token or the cookie of the console. */
const securityOf = ({ auth }: AnyRoute): Json[] => {
  if (auth === 'none') return []
  const [name] = SCHEMES[auth as Exclude<Auth, 'none'>]
  return auth === 'user' ? [{ [name]: [] }, { [COOKIE[0]]: [] }] : [{ [name]: [] }]
}

function operation(r: AnyRoute, answers: AnswerSchemas): Json {
  return {
    operationId: operationId(r),
    summary: r.action,
    tags: [r.path.split('/')[1] ?? ''],
    security: securityOf(r),
    ...(r.permission ? { 'x-permission': r.permission } : {}),
    parameters: [...pathParameters(r.path), ...queryParameters(r.query)],
    ...requestBody(r),
    responses: responses(r, answers),
  }
}

const byPath = (a: AnyRoute, b: AnyRoute): number => {
  const [one, other] = [mounted(a.path), mounted(b.path)]
  return one < other ? -1 : one > other ? 1 : 0
}

const operationId = (r: AnyRoute): string => `${r.action}.${r.method.toLowerCase()}`

/** No byte at all counts as `{}`. */
function requestBody(r: AnyRoute): Json {
  if (r.upload) return { requestBody: { required: true, content: { '*/*': {} } } }
  if (!r.body) return {}
  const required = !r.body.safeParse({}).success
  return { requestBody: { required, content: { [JSON_TYPE]: { schema: schemaOf(r.body) } } } }
}

/** Two records share a path, and the kind of the credential decides: one operation for both, with the answers of either. */
function mergeOperations(first: Json, second: Json): Json {
  const of = (key: string) => [...(first[key] as unknown[]), ...(second[key] as unknown[])]
  const also = [...((first['x-also'] as Json[] | undefined) ?? []), second]
  const parameters = new Map((of('parameters') as Json[]).map((one) => [`${one.in} ${one.name}`, one]))
  const [one, other] = [first.responses, second.responses] as Record<string, Json>[]
  const merged = Object.fromEntries(
    Object.keys({ ...one, ...other }).map((status) => [status, either(one?.[status], other?.[status])]),
  )
  return { ...first, parameters: [...parameters.values()], responses: merged, security: of('security'), 'x-also': also }
}

function either(one: Json | undefined, other: Json | undefined): Json | undefined {
  const [a, b] = [one, other].map((response) => schemaIn(response))
  if (!one || !other || !a || !b || JSON.stringify(a) === JSON.stringify(b)) return one ?? other
  return { ...one, content: { [JSON_TYPE]: { schema: { anyOf: [a, b] } } } }
}
const schemaIn = (response: Json | undefined): unknown =>
  (response?.content as Record<string, { schema?: unknown }> | undefined)?.[JSON_TYPE]?.schema

const pathParameters = (path: string): Json[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))

function queryParameters(schema: z.ZodType | undefined): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = schemaOf(schema) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, one]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: one,
  }))
}

/** What a client may send: transforms are described by their input, what JSON Schema cannot say is left open. */
export function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return json as Json
}

const EMPTY = new Set(['204', '304'])
/** Told to people, by links in messages. */
const PAGES = new Set(['410'])

function responses(r: AnyRoute, answers: AnswerSchemas): Json {
  const statuses = ['401', '404', '500', '503', ...(r.body || r.query ? ['400'] : []), ...(r.permission ? ['403'] : [])]
  if (r.body) statuses.push('413')
  if (r.method !== 'GET') statuses.push('409')
  if (r.auth === 'none' || r.auth === 'bootstrap') statuses.push('429')
  const errors = [...statuses.sort(), 'default'].map((status) => [
    status,
    { $ref: `#/components/responses/${keyOf(status)}` },
  ])
  const done = success(r, answers.of(r))
  const others = Object.entries(r.otherwise ?? {}).map(([status, description]) => [
    status,
    { ...(EMPTY.has(status) ? {} : PAGES.has(status) ? { content: { 'text/html': {} } } : done), description },
  ])
  return { [r.status ?? 200]: done, ...Object.fromEntries(others), ...Object.fromEntries(errors) }
}

const DATA: Json = { type: 'object', required: ['data'], properties: { data: {} } }

function success(r: AnyRoute, answer: Json | undefined): Json {
  if (r.status === 204) return { description: 'Done, no body' }
  if (r.status === 302) return { description: 'A redirection, no body' }
  if (r.kind === 'stream' && !answer) return { description: 'The content itself', content: { '*/*': {} } }
  return { description: 'Success', content: { [JSON_TYPE]: { schema: answer ?? DATA } } }
}

const failure = (description: string, schema: keyof typeof ERROR_SCHEMAS): Json => ({
  description,
  content: { [JSON_TYPE]: { schema: { $ref: `#/components/schemas/${schema}` } } },
})

/** The document of this program: the file openapi.json, embedded. @throws Error in a checkout that has none */
export const document = (): Uint8Array => assetBytes('openapi.json')

/** `GET /openapi.json`: readable with any session. */
export const openapiRoute = (): AnyRoute =>
  stream({
    method: 'GET',
    path: '/openapi.json',
    auth: 'user',
    permission: null,
    action: 'openapi.read',
    target: () => ({ type: 'controller' }),
    audit: 'outcome',
    run: async () => ({
      response: new Response(new Uint8Array(document()), {
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
      }),
    }),
  })
