import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { listening } from '../../kit/http.ts'
import { type Kit, kit } from '../../kit/kit.ts'
import { until } from '../../kit/whole.ts'

const EXPORT = '/health-events/export'

/** A controller with more health events than a connection holds, and a signed-in viewer of everything. */
async function world(t: TestContext): Promise<{ email: string; k: Kit; token: string; url: string; userId: string }> {
  const k = kit()
  const { agent, id } = await k.enroll()
  const details = { text: 'x'.repeat(60_000) }
  for (let n = 0; n < 220; n++)
    await agent.post(`/nodes/${id}/health-events`, { details, severity: 'info', type: `agent.made_up_${n}` })
  const account = { email: 'reader@example.org', name: 'Reader', password: 'a-password-of-a-reader', roles: ['admin'] }
  const userId = (await k.as('owner').post('/auth/users', account)).json.data.id
  const { close, url } = await listening(k)
  t.after(async () => {
    await close()
    await k.close()
  })
  const login = await fetch(`${url}/auth/login`, {
    body: JSON.stringify({ email: account.email, password: account.password }),
    headers: { 'content-type': 'application/json' },
    method: 'POST',
  })
  const { data } = (await login.json()) as { data: { token: string } }
  return { email: account.email, k, token: data.token, url, userId }
}

const opened = (url: string, token: string, signal?: AbortSignal) =>
  fetch(url + EXPORT, { headers: { authorization: `Bearer ${token}` }, ...(signal ? { signal } : {}) })

async function lengthOf({ body }: Response): Promise<number> {
  let bytes = 0
  for await (const piece of body as ReadableStream<Uint8Array>) bytes += piece.length
  return bytes
}

test('of one person sixteen exports are under way at once; one that is over makes room', async (t) => {
  const { token, url } = await world(t)
  const gone = new AbortController()
  const leaving = new AbortController()
  const first = [await opened(url, token, gone.signal)]
  for (let n = 0; n < 15; n++) first.push(await opened(url, token, n < 12 ? leaving.signal : undefined))
  assert.ok(first.every(({ status }) => status === 200))
  const further = await opened(url, token)
  assert.equal(further.status, 429)
  assert.ok(further.headers.get('retry-after'))
  await further.body?.cancel()
  gone.abort()
  const retried = await until('a place', async () => {
    const again = await opened(url, token)
    if (again.status === 200) return again
    await again.body?.cancel()
  })
  leaving.abort()
  // All at once: one that nobody reads for a minute is ended.
  const lengths = await Promise.all([...first.slice(13), retried].map(lengthOf))
  assert.ok(lengths.every((bytes) => bytes > 13_000_000))
  // What was read to its end makes room as well.
  assert.ok((await lengthOf(await opened(url, token))) > 13_000_000)
})

test('an export ends with the account of who reads it', async (t) => {
  const { k, token, url, userId } = await world(t)
  const one = await opened(url, token)
  const reader = one.body!.getReader()
  await reader.read()
  assert.equal((await k.as('owner').delete(`/auth/users/${userId}`)).status, 204)
  k.advance('6s')
  await assert.rejects(async () => {
    for (;;) if ((await reader.read()).done) return
  })
})

test('a stop ends exports', async (t) => {
  const { k, token, url } = await world(t)
  const unread = await opened(url, token)
  k.release()
  await assert.rejects(unread.text())
})
