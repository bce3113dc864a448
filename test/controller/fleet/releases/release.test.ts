import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newestAgent, nextPage } from '../../../../src/controller/fleet/releases/release.rules.ts'
import { type Kit, kit } from '../../../kit/kit.ts'
import { json, peer, type Reply } from '../../../kit/peer.ts'

const release = (tag: string, more: object = {}) => ({
  assets: [],
  draft: false,
  html_url: `https://releases.example/${tag}`,
  prerelease: false,
  published_at: '2026-03-01T10:00:00Z',
  tag_name: tag,
  ...more,
})
const LIST = [
  release('agent-v2026.03.05-1', { draft: true }),
  release('agent-v2026.03.04-1', { prerelease: true }),
  release('controller-v2027.01.01-1'),
  release('agent-v2026.03.02-9'),
  release('agent-v2026.03.02-10'),
  release('agent-v2026.3.9-1'),
  release('v9'),
]
const NEWEST = {
  publishedAt: '2026-03-01T10:00:00.000Z',
  tag: 'agent-v2026.03.02-10',
  url: 'https://releases.example/agent-v2026.03.02-10',
  version: '2026.03.02-10',
}

async function world(reply: Reply, env: Record<string, string> = {}) {
  const host = await peer(reply)
  const k = kit({
    env: {
      SVC_AGENT_RELEASE_REPO: 'acme/roomtone',
      SVC_GITHUB_API_URL: `${host.url}/api/`,
      SVC_AGENT_RELEASE_TIMEOUT_MS: '3000',
      ...env,
    },
  })
  const close = async () => {
    await k.close()
    await host.close()
  }
  return { close, host, k }
}
const read = async (k: Kit) => (await k.as('viewer').get('/nodes/agent-release')).json
const check = (k: Kit) => k.tick('agent-release')

test('a cold read does not wait; the check picks the newest published agent release and sends the token', async () => {
  const { close, host, k } = await world(json(LIST), { SVC_GITHUB_TOKEN: 'github-token' })
  assert.deepEqual(await read(k), { data: null })
  await check(k)
  assert.deepEqual(await read(k), { checkedAt: k.now(), data: NEWEST })
  assert.equal(host.asked.length, 1)
  assert.equal(host.asked[0]?.url, '/api/repos/acme/roomtone/releases?per_page=100')
  assert.equal(host.asked[0]?.headers.authorization, 'Bearer github-token')
  k.as('viewer')
  assert.deepEqual([...new Set(k.trail())], ['nodes.agent_release.read allowed'])
  await close()
})

test('an answer is fresh for its time, then asked again, by one check whoever asks', async () => {
  const { close, host, k } = await world(json(LIST))
  await check(k)
  k.advance('29m')
  await check(k)
  assert.equal(host.asked.length, 1)
  k.advance('2m')
  await Promise.all([check(k), read(k), read(k), check(k)])
  await check(k)
  assert.equal(host.asked.length, 2)
  await close()
})

test('what goes wrong leaves the last good answer, says why, and is not repeated at once', async () => {
  const { close, host, k } = await world(json(LIST))
  await check(k)
  const at = k.now()
  const bad: [Reply, string][] = [
    [(_, r) => void r.end('<html>sign in</html>'), 'release_source_invalid_answer'],
    [json({ message: 'no' }), 'release_source_invalid_answer'],
    [json({ message: 'rate limited' }, 403), 'release_source_403'],
    [(_, r) => void r.end(`["${'x'.repeat(9_000_000)}"]`), 'release_source_too_large'],
    [(_, r) => void r.writeHead(200, { 'content-length': '9' }).write('[', () => r.destroy()), 'release_source_broken'],
    [() => {}, 'release_source_timeout'],
    [(_, r) => void r.writeHead(302, { location: 'http://127.0.0.1:9/x' }).end(), 'release_source_redirects_elsewhere'],
    [(_, r) => void r.writeHead(302, { location: '/again' }).end(), 'release_source_302'],
  ]
  for (const [reply, reason] of bad) {
    k.advance('31m')
    host.answers(reply)
    await check(k)
    assert.deepEqual(await read(k), { checkedAt: at, data: NEWEST, reason, stale: true })
  }
  const asked = host.asked.length
  host.answers(json(LIST))
  k.advance('4m')
  await check(k)
  assert.equal(host.asked.length, asked)
  k.advance('2m')
  await check(k)
  assert.deepEqual(await read(k), { checkedAt: k.now(), data: NEWEST })
  await close()
})

test('offline from the start, the next start still knows; another repository does not', async () => {
  const { host, k, close } = await world(json(LIST))
  await check(k)
  const [row] = k.rows<{ value: string }>("SELECT value FROM controller_state WHERE key = 'agent_release'")
  await close()
  const env = { SVC_GITHUB_API_URL: `${host.url}/api/`, SVC_AGENT_RELEASE_TIMEOUT_MS: '3000' }
  for (const [repo, data] of [
    ['acme/roomtone', NEWEST],
    ['acme/other', null],
  ] as const) {
    const later = kit({ env: { ...env, SVC_AGENT_RELEASE_REPO: repo } })
    later.sql("INSERT INTO controller_state VALUES ('agent_release', ?, ?)", row?.value, later.now())
    later.advance('2h')
    await check(later)
    const seen = await read(later)
    assert.deepEqual([seen.data, seen.reason], [data, 'release_source_unreachable'])
    await later.close()
  }
})

test('pages are followed on the same host only, five of them', async () => {
  let page = 0
  const { close, host, k } = await world((asked, response) => {
    page++
    response.setHeader('link', `<http://${asked.headers.host}/next?page=${page}>; rel="next", <http://x/>; rel="last"`)
    json([release(`agent-v2026.01.01-${page}`)])(asked, response)
  })
  await check(k)
  assert.deepEqual([host.asked.length, (await read(k)).data.version], [5, '2026.01.01-5'])
  await close()
  const from = new URL('https://api.example/a')
  assert.equal(nextPage('<https://evil.example/>; rel="next"', from), undefined)
  assert.equal(nextPage('</b>; rel="next"', from)?.href, 'https://api.example/b')
  assert.equal(nextPage(undefined, from), undefined)
})

test('without a repository nothing is asked, and the answer says so', async () => {
  const k = kit()
  assert.deepEqual(await read(k), { data: null, reason: 'release_source_unconfigured' })
  await k.close()
})

test('rules: no release of an agent is null', () => {
  assert.equal(newestAgent([]), null)
  assert.equal(newestAgent([{ assets: [], draft: false, prerelease: false, tag_name: 'x' }]), null)
})
