import * as z from 'zod'
import { type AnyRoute, type Auth, stream } from './route.ts'
import { mounted } from './serve.ts'

type Json = Record<string, unknown>

const SCHEMES: Record<Exclude<Auth, 'none'>, [name: string, words: string]> = {
  user: ['session', 'Session token of a login (`svc_...`)'],
  display: ['screen', 'The cookie of a screen on a wall (`svc_display`)'],
  node: ['node', 'Controller token of a node (`svc_node_...`)'],
  bootstrap: ['bootstrap', 'Single-use bootstrap token of one node (`svc_bs_...`)'],
  runner: ['runner', 'The shared token of the lifecycle runner'],
  scraper: ['scraper', 'The static token of the monitoring system'],
}

const ERRORS: Record<string, string> = {
  400: 'The request fails validation',
  401: 'No or invalid credential',
  403: 'Permission or scope is missing',
  404: 'Missing, or out of scope',
  409: 'The state does not allow it',
  413: 'The body is too large',
  429: 'Too many refused attempts: see Retry-After',
  500: 'Internal server error',
  503: 'The database is unavailable',
}

const ISSUE = {
  type: 'object',
  properties: { code: { type: 'string' }, message: { type: 'string' }, path: { type: 'array', items: {} } },
}
const ERROR_BODY = {
  type: 'object',
  required: ['error'],
  properties: {
    error: { type: 'string' },
    issues: { type: 'array', items: ISSUE },
    permission: { type: 'string' },
    reason: { type: 'string' },
  },
}

/** The OpenAPI 3.1 document of these records, as plain JSON. */
export function openapi(routes: readonly AnyRoute[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {}
  // By path: the order in which modules are created means nothing to a reader.
  for (const r of routes.toSorted(byPath)) {
    const path = mounted(r.path).replace(/:(\w+)(?:\{[^}]*\})?/g, '{$1}')
    const item = paths[path] ?? {}
    paths[path] = item
    const method = r.method.toLowerCase()
    item[method] = item[method] ? mergeOperations(item[method], operation(r)) : operation(r)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Roomtone controller', version },
    servers: [{ url: '/' }],
    paths,
    components: {
      responses: Object.fromEntries(Object.entries(ERRORS).map(([status, words]) => [`E${status}`, failure(words)])),
      schemas: { Error: ERROR_BODY },
      securitySchemes: Object.fromEntries(
        Object.values(SCHEMES).map(([name, description]) => [
          name,
          name === 'screen'
            ? { type: 'apiKey', in: 'cookie', name: 'svc_display', description }
            : { type: 'http', scheme: 'bearer', description },
        ]),
      ),
    },
  }
}

function operation(r: AnyRoute): Json {
  return {
    operationId: operationId(r),
    summary: r.action,
    tags: [r.path.split('/')[1] ?? ''],
    security: r.auth === 'none' ? [] : [{ [SCHEMES[r.auth as keyof typeof SCHEMES][0]]: [] }],
    ...(r.permission ? { 'x-permission': r.permission } : {}),
    parameters: [...pathParameters(r.path), ...queryParameters(r.query)],
    ...(r.body ? { requestBody: { content: { 'application/json': { schema: schemaOf(r.body) } } } } : {}),
    responses: responses(r),
  }
}

const byPath = (a: AnyRoute, b: AnyRoute): number => {
  const [one, other] = [mounted(a.path), mounted(b.path)]
  return one < other ? -1 : one > other ? 1 : 0
}

const operationId = (r: AnyRoute): string => `${r.action}.${r.method.toLowerCase()}`

/** Two records share a path that takes a session or a node credential: one operation for both. */
function mergeOperations(first: Json, second: Json): Json {
  const of = (key: string) => [...(first[key] as unknown[]), ...(second[key] as unknown[])]
  const also = [...((first['x-also'] as Json[] | undefined) ?? []), second]
  return { ...first, security: of('security'), 'x-also': also }
}

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

function responses(r: AnyRoute): Json {
  const statuses = ['401', '404', '500', '503', ...(r.body || r.query ? ['400'] : []), ...(r.permission ? ['403'] : [])]
  if (r.body) statuses.push('413')
  if (r.method !== 'GET') statuses.push('409')
  if (r.auth === 'none' || r.auth === 'bootstrap') statuses.push('429')
  const errors = statuses.sort().map((status) => [status, { $ref: `#/components/responses/E${status}` }])
  return { [r.status ?? 200]: success(r), ...Object.fromEntries(errors) }
}

function success(r: AnyRoute): Json {
  if (r.status === 204) return { description: 'Done, no body' }
  if (r.kind === 'stream') return { description: 'The content itself', content: { '*/*': {} } }
  const schema = { type: 'object', required: ['data'], properties: { data: {} } }
  return { description: 'Success', content: { 'application/json': { schema } } }
}

const failure = (description: string): Json => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
})

/** `GET /openapi.json`: readable with any session. `all` gives the whole list, this record included. */
export function openapiRoute(all: () => readonly AnyRoute[], version: string): AnyRoute {
  let text: string | undefined
  return stream({
    method: 'GET',
    path: '/openapi.json',
    auth: 'user',
    permission: null,
    action: 'openapi.read',
    target: () => ({ type: 'controller' }),
    audit: 'outcome',
    run: async () => {
      text ??= JSON.stringify(openapi(all(), version))
      return { response: new Response(text, { headers: { 'Content-Type': 'application/json; charset=utf-8' } }) }
    },
  })
}
