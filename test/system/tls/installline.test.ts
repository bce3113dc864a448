// The printed line on a bare box: it trusts nobody, and takes what it is given from this controller alone.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { Certificates } from '../../../src/controller/http/certificates.ts'
import { Server } from '../../../src/controller/http/server.ts'
import { run } from '../../../src/system/host/run.ts'
import { kit } from '../../kit/kit.ts'
import { type Site, site, tempDir } from './world.ts'

const log = { debug() {}, error() {}, info() {}, warn() {} }

async function controller(t: TestContext, s: Site, env: Record<string, string> = {}) {
  const certificates = new Certificates({ cert: s.cert, clientCertMode: 'off', key: s.key }, Date.now())
  const k = kit({ certificates, env: { SVC_API_TLS_CERT_PATH: s.cert, SVC_API_TLS_KEY_PATH: s.key, ...env } })
  const server = new Server(k.app, { certificates, log })
  const url = (await server.listen('127.0.0.1', 0)).replace('127.0.0.1', 'localhost')
  t.after(async () => {
    await server.close(100)
    await k.close()
  })
  const { id } = await k.enroll()
  const admin = k.as('admin')
  const lineAt = async (at: string): Promise<string> => {
    const answer = await admin.post(`/nodes/${id}/bootstrap-token`, {}, { host: new URL(at).host })
    return answer.json.data.installLine
  }
  return { lineAt, url }
}

/** What the line hands to the shell of root. */
const handed = (line: string) => run('sh', ['-c', line.replace(/ \| sudo sh -s .*/, '')])

test('the line of a site with an authority of its own fetches the script without any file, and the script knows the authority', async (t) => {
  const s = site(t)
  const { lineAt, url } = await controller(t, s)
  const line = await lineAt(url)
  assert.match(line, /curl -fsSL --proto '=https' -k --pinnedpubkey 'sha256\/\/[\w+/]{43}=' 'https:\/\/localhost/)
  const { code, stdout } = await handed(line)
  assert.equal(code, 0)
  // Byte for byte: who brings the file later finds nothing to do.
  assert.ok(stdout.includes(`\ndefault_controller_ca='${fs.readFileSync(s.ca, 'utf8')}'\n`))
  assert.ok(stdout.includes(`default_controller_url='${url}'`))
  // A machine in the middle with a certificate of its own, even of the same authority, serves nothing.
  let asked = 0
  for (const pair of [site(t), s.client('middle')]) {
    const middle = https.createServer({ cert: fs.readFileSync(pair.cert), key: fs.readFileSync(pair.key) }, (_, to) => {
      asked++
      to.end('echo taken\n')
    })
    await new Promise<void>((resolve) => middle.listen(0, '127.0.0.1', resolve))
    t.after(() => middle.close())
    const there = `https://localhost:${(middle.address() as AddressInfo).port}`
    const refused = await handed(line.replaceAll(url, there))
    assert.equal(refused.stdout.split('\n').slice(1).join('\n').trim(), 'exit 1')
    assert.match(refused.stderr, /public key/)
  }
  assert.equal(asked, 0)
})

test('the installer that came so trusts that authority, and no other', {
  skip: process.getuid?.() !== 0,
}, async (t) => {
  const s = site(t)
  const { lineAt, url } = await controller(t, s)
  const { stdout } = await handed(await lineAt(url))
  const file = path.join(tempDir(t), 'script')
  const installed = (script: string) => {
    fs.writeFileSync(file, script)
    return run('unshare', ['-m', 'sh', '-c', `mount -t tmpfs tmpfs /opt && sh ${file} --node-id node_1`])
  }
  const there = await installed(stdout)
  assert.match(there.stderr, /401|404|no such release|refuses the token/)
  assert.doesNotMatch(there.stderr, /certificate/)
  const authority = fs.readFileSync(site(t).ca, 'utf8')
  const foreign = stdout.replace(/^default_controller_ca='[^']*'$/m, () => `default_controller_ca='${authority}'`)
  assert.match((await installed(foreign)).stderr, /certificate/)
})

test('no key is named where another certificate may be seen: another address, a proxy, an authority that is not the site’s', async (t) => {
  const s = site(t)
  const { lineAt, url } = await controller(t, s)
  assert.doesNotMatch(await lineAt(url.replace('localhost', 'elsewhere.example')), /--pinnedpubkey/)
  const proxied = await controller(t, s, { SVC_TRUSTED_PROXIES: '10.0.0.1' })
  assert.doesNotMatch(await proxied.lineAt(url), /--pinnedpubkey/)
  fs.copyFileSync(site(t).ca, s.ca)
  assert.doesNotMatch(await lineAt(url), /--pinnedpubkey/)
})
