import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import { openapi } from '../../../../src/controller/http/openapi.ts'
import { route } from '../../../../src/controller/http/route.ts'
import { mounted } from '../../../../src/controller/http/serve.ts'
import { kit } from '../../../kit/kit.ts'

interface Operation {
  operationId: string
  parameters: { name: string; in: string; required: boolean }[]
  requestBody?: { content: Record<string, { schema: Record<string, unknown> }> }
  responses: Record<string, { $ref?: string; description?: string }>
  security: Record<string, unknown[]>[]
  summary: string
  'x-also'?: Operation[]
  'x-permission'?: string
}
const every = (paths: Record<string, Record<string, Operation>>): Operation[] =>
  Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap((operation) => [operation, ...(operation['x-also'] ?? [])])

test('every record is in the document once, under an id of its own, with its permission', async () => {
  const k = kit()
  const answer = await k.person('nobody', []).get('/openapi.json')
  assert.equal(answer.status, 200)
  assert.deepEqual(k.trail(), ['openapi.read.succeeded succeeded'])
  const document = answer.json
  assert.equal(document.openapi, '3.1.0')
  const operations = every(document.paths)
  assert.equal(operations.length, k.routes.length)
  assert.equal(new Set(operations.map((operation) => operation.operationId)).size, operations.length)
  for (const r of k.routes) {
    const path = mounted(r.path).replace(/:(\w+)/g, '{$1}')
    const first: Operation = document.paths[path][r.method.toLowerCase()]
    const found = [first, ...(first['x-also'] ?? [])].find((operation) => operation.summary === r.action)
    assert.equal(found?.operationId, `${r.action}.${r.method.toLowerCase()}`)
    assert.equal(found?.['x-permission'], r.permission ?? undefined)
    assert.equal(found?.requestBody !== undefined, r.body !== undefined || r.upload === true, path)
  }
  await k.close()
})

test('the document is whole: references resolve, path parameters are declared, successes described', async () => {
  const k = kit()
  const document = openapi(k.routes, '1.2.3') as never as {
    components: { responses: object; schemas: object; securitySchemes: object }
    paths: Record<string, Record<string, Operation>>
  }
  const at = (ref: string) =>
    ref
      .split('/')
      .slice(1)
      .reduce((node: never, key) => node[key], document as never)
  for (const [, ref = ''] of JSON.stringify(document).matchAll(/"\$ref":"(#\/components[^"]+)"/g))
    assert.ok(at(ref), ref)
  for (const [path, item] of Object.entries(document.paths))
    for (const operation of Object.values(item)) {
      const declared = operation.parameters.filter((p) => p.in === 'path').map((p) => `{${p.name}}`)
      assert.deepEqual(declared, path.match(/\{\w+\}/g) ?? [], path)
      assert.ok(
        Object.keys(operation.responses).some((status) => /^2|^302$/.test(status)) && operation.responses.default,
      )
      for (const scheme of operation.security)
        for (const name of Object.keys(scheme)) assert.ok(name in document.components.securitySchemes)
    }
  await k.close()
})

test('bodies and queries are described by what a client may send', async () => {
  const k = kit()
  const { paths } = openapi(k.routes, 'x') as never as { paths: Record<string, Record<string, Operation>> }
  const body = paths['/api/v1/auth/login']?.post?.requestBody?.content['application/json']?.schema
  assert.deepEqual(body?.required, ['email', 'password'])
  const filters = paths['/api/v1/audit-events']?.get?.parameters
  assert.deepEqual(filters?.map((p) => p.name).sort(), [
    ...[
      'action',
      'actor',
      'changes',
      'cursor',
      'from',
      'id',
      'limit',
      'offset',
      'outcome',
      'permission',
      'reason',
      'target',
      'to',
    ],
  ])
  assert.ok(filters?.every((p) => p.in === 'query' && !p.required))
  await k.close()
})

test('a session and a node on one path are one operation that takes either', () => {
  const record = (auth: 'user' | 'node', action: string) =>
    route({
      method: 'GET',
      path: '/things/:id',
      auth,
      permission: 'node:read',
      action,
      target: () => ({ type: 'thing' }),
      query: z.object({ wait: z.coerce.number() }),
      run: () => ({ data: null }),
    })
  const document = openapi([record('user', 'a.read'), record('node', 'b.read')], 'x') as never as {
    paths: Record<string, Record<string, Operation>>
  }
  const operation = document.paths['/api/v1/things/{id}']?.get
  assert.deepEqual(operation?.security, [{ session: [] }, { cookie: [] }, { node: [] }])
  assert.deepEqual(
    operation?.['x-also']?.map((one) => one.operationId),
    ['b.read.get'],
  )
  assert.deepEqual(
    operation?.parameters.map(({ name }) => name),
    ['id', 'wait'],
  )
})

test('a body may be left out where nothing in it is required', async () => {
  const k = kit()
  const { paths } = openapi(k.routes, 'x') as never as { paths: Record<string, Record<string, Operation>> }
  const required = (path: string) => (paths[path]?.post?.requestBody as { required?: boolean } | undefined)?.required
  assert.equal(required('/api/v1/rooms'), true)
  assert.equal(required('/api/v1/nodes/{id}/pairing-code'), false)
  await k.close()
})

test('strangers do not read it', async () => {
  const k = kit()
  assert.equal((await k.anonymous.get('/openapi.json')).status, 401)
  await k.close()
})
