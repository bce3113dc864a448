import assert from 'node:assert/strict'
import * as os from 'node:os'
import { test } from 'node:test'
import { createLink, type LinkOptions } from '../../../src/agent/link/client.ts'
import { guardUrl } from '../../../src/agent/link/http.ts'
import { LinkError } from '../../../src/agent/link/link.ts'
import { json, selfSigned, serve, tempDir } from '../server.ts'

const beat = { agentVersion: '1', hostname: 'h', ipAddresses: [], runtime: {}, status: 'online' as const }

const options = (url: string, more: Partial<LinkOptions> = {}): LinkOptions => ({
  allowInsecure: false,
  connectTimeoutMs: 10_000,
  nodeId: 'node_1',
  readTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  token: () => 'svc_node_secret',
  url,
  ...more,
})

const outsideAddress = (): string | undefined =>
  Object.values(os.networkInterfaces())
    .flatMap((list) => list ?? [])
    .find((a) => !a.internal && a.family === 'IPv4')?.address

test('plain http to another machine is refused before a byte is sent', async (t) => {
  const host = outsideAddress()
  if (!host) return t.skip('this machine has only loopback')
  const server = await serve(t, (_seen, response) => json(response, 202, { data: {} }), { host })
  assert.throws(() => createLink(options(server.url)), /refusing plain http/)
  assert.equal(server.connections(), 0)
  const allowed = createLink(options(server.url, { allowInsecure: true }))
  await allowed.heartbeat(beat)
  allowed.close()
  assert.equal(server.connections(), 1)
})

test('only real loopback addresses count as loopback', () => {
  for (const url of [
    'http://localhost:1',
    'http://LOCALHOST',
    'http://127.0.0.1',
    'http://127.9.9.9',
    'http://[::1]:8',
    'https://example.org',
  ])
    guardUrl(new URL(url), false)
  for (const url of [
    'http://127.example.org',
    'http://localhost.example.org',
    'http://10.0.0.1',
    'http://[fd00::1]',
    'ftp://localhost',
  ])
    assert.throws(() => guardUrl(new URL(url), false), LinkError, url)
  assert.throws(() => guardUrl(new URL('ftp://localhost'), true), LinkError)
})

test('a self-signed controller: refused, trusted by its CA file, or accepted insecurely', async (t) => {
  const tls = selfSigned(tempDir(t))
  const server = await serve(t, (_seen, response) => json(response, 202, { data: {} }), { tls })
  const strict = createLink(options(server.url))
  await assert.rejects(
    strict.heartbeat(beat),
    (e: LinkError) => e.status === undefined && /no authority this machine trusts/.test(e.message),
  )
  assert.equal(server.seen.length, 0)
  for (const more of [{ caFile: tls.certFile }, { allowInsecure: true }]) {
    const link = createLink(options(server.url, more))
    await link.heartbeat(beat)
    link.close()
  }
  assert.equal(server.seen.length, 2)
  strict.close()
})

test('a CA file without a certificate is refused by name', (t) => {
  const file = `${tempDir(t)}/ca.pem`
  assert.throws(
    () => createLink(options('https://localhost', { caFile: file })),
    /CA file cannot be read: .*ca\.pem does not exist/,
  )
  assert.throws(() => createLink(options('https://localhost', { caFile: '/dev/null' })), /contains no PEM certificate/)
})
