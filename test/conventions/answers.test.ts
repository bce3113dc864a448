// What every answer says of itself: derived from the records.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { DOCUMENT } from '../../src/controller/http/headers.ts'
import { mounted } from '../../src/controller/http/serve.ts'
import { kit } from '../kit/kit.ts'

const k = kit({ env: { SVC_METRICS_TOKEN: 'metrics-token-0123456789' } })
after(() => k.close())

const answers = async (token: string | undefined) => {
  const all: { headers: Headers; line: string; status: number }[] = []
  for (const r of k.routes) {
    const path = mounted(r.path.replaceAll(/:\w+/g, 'x'))
    const init = { headers: token ? { authorization: `Bearer ${token}` } : {}, method: r.method }
    const { body, headers, status } = await k.app.request(path, init)
    await body?.cancel()
    all.push({ headers, line: `${r.method} ${path} ${status}`, status })
  }
  return all
}

test('no answer is guessed at, and none but a file is kept by a browser', async () => {
  const owner = k.as('owner')
  const all = [...(await answers(owner.token)), ...(await answers(undefined))]
  assert.ok(all.some(({ status }) => status === 200) && all.some(({ status }) => status === 401))
  assert.deepEqual(
    all.filter(({ headers }) => headers.get('x-content-type-options') !== 'nosniff').map(({ line }) => line),
    [],
  )
  const isJson = (headers: Headers) => /json/.test(headers.get('content-type') ?? '')
  const kept = all.filter(({ headers }) => isJson(headers) && headers.get('cache-control') !== 'no-store')
  assert.deepEqual(
    kept.map(({ line }) => line),
    [],
  )
})

const POLICY = 'content-security-policy'

test('what a browser shows by itself has the headers of the console', async () => {
  const all = [...(await answers(k.as('owner').token)), ...(await answers(undefined))]
  const shown = all.filter(({ headers }) => /^text\/(?!event-stream)/.test(headers.get('content-type') ?? ''))
  assert.ok(shown.length >= 2, 'the installer and the metrics')
  for (const { headers, line } of shown)
    for (const [name, value] of Object.entries(DOCUMENT))
      if (name !== POLICY || !line.includes(' /a/x')) assert.equal(headers.get(name), value, `${line} ${name}`)
})

test('the page of a link has no script and loads nothing', async () => {
  const { headers } = await k.app.request('/a/x')
  const policy = (headers.get(POLICY) ?? '').split('; ')
  assert.deepEqual(
    policy.filter((rule) => !rule.startsWith('style-src')),
    ["default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"],
  )
  assert.match(policy.find((rule) => rule.startsWith('style-src')) ?? '', /^style-src 'sha256-[^ ]+'$/)
})

test('an address that is none answers the same way', async () => {
  const { headers, status } = await k.app.request('/api/v1/no-such-thing')
  assert.equal(status, 404)
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.equal(headers.get('cache-control'), 'no-store')
})
