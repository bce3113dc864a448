// What a stranger may send: derived from the records, on a real socket.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { STRANGER_LIMIT } from '../../src/controller/http/bodies.ts'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { limitOf, mounted } from '../../src/controller/http/serve.ts'
import { listening } from '../kit/http.ts'
import { kit } from '../kit/kit.ts'
import { slowly, statusOf } from '../kit/slow.ts'

const k = kit()
const server = await listening(k)
after(async () => {
  await server.close()
  await k.close()
})

const addressed = (r: AnyRoute): string => mounted(r.path.replaceAll(/:\w+/g, 'x'))
const line = (r: AnyRoute): string => `${r.method} ${addressed(r)}`

test('only a node may send what is not bounded', () => {
  const uploads = k.routes.filter((r) => r.upload)
  assert.deepEqual(
    uploads.map((r) => `${r.method} ${r.path} ${r.auth}`),
    ['PUT /recordings/:id/cache-file node'],
  )
})

test('where anybody may come, a body is small', () => {
  const open = k.routes.filter((r) => r.auth === 'none' && r.body)
  assert.ok(open.length > 0)
  assert.deepEqual(open.filter((r) => limitOf(r) > STRANGER_LIMIT).map(line), [])
})

test('a stranger who goes on sending is answered and hung up on, whatever he asks for', async () => {
  const sent = k.routes.filter((r) => r.method !== 'GET')
  assert.ok(sent.length > 80)
  const headers = { 'content-length': '1000000000', 'content-type': 'application/json' }
  for (let at = 0; at < sent.length; at += 16) {
    const some = sent.slice(at, at + 16)
    const answers = await Promise.all(some.map((r) => slowly(server.url, line(r), headers)))
    await Promise.all(answers.map(({ closed }) => closed))
    const wrong = some.filter(
      (_, n) => ![204, 401, 410, 413, 429, 503].includes(statusOf(answers[n] as (typeof answers)[0])),
    )
    assert.deepEqual(wrong.map(line), [])
  }
})
