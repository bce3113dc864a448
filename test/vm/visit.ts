// What tests of installers share: a package, how a box is compared with what it was, and a host of releases on the cable.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import * as fs from 'node:fs'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import * as path from 'node:path'
import * as tls from 'node:tls'
import { signSums } from '../../src/system/host/release.ts'
import { run } from '../../src/system/host/run.ts'
import { ROOT } from '../kit/executable.ts'
import type { House } from '../kit/whole.ts'
import type { Machine } from './machine.ts'

// Everything an installation may touch, with owners, modes and contents. Copies of passwd and its like that the system's own
// programs keep are left out: the accounts are asked for.
const LISTING = `
  find /etc /opt /root /usr/local /var/lib \\( -path /var/lib/systemd -o -path /var/lib/apt/lists -o -path /etc/.pwd.lock -o -path '/etc/*-' \
    -o -path /etc/passwd -o -path /etc/group -o -path '/etc/*shadow' -o -path '/etc/sub?id' \\) -prune \
    -o -printf '%p %y %m %U %G %l\\n' -type f -exec sha256sum {} + | sort
  getent passwd | sort; getent group | sort; systemctl list-unit-files --no-legend 'roomtone*'
  ls -A /tmp /run | grep ^room | grep -v '\\.lock$'`

/** Looks at the box now; the answer fails when the box is another one than then. */
export async function lookedAt(box: Machine): Promise<() => Promise<void>> {
  const look = async () => new Set((await box.run(LISTING)).stdout.split('\n'))
  const was = await look()
  return async () => {
    const is = await look()
    assert.deepEqual({ gone: [...was.difference(is)], more: [...is.difference(was)] }, { gone: [], more: [] })
  }
}

export const quoted = (words: string[]): string => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')

/** A certificate of its own for a controller on the cable, trusted here from now on. */
export function certified(house: House, { hostAddress }: Machine): { cert: string; key: string } {
  const [cert, key] = [house.path('ca.pem'), house.path('tls.key')]
  const subject = ['-subj', '/CN=controller', '-addext', `subjectAltName=IP:${hostAddress}`]
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...ec, ...subject, '-keyout', key, '-out', cert], { stdio: 'pipe' })
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), fs.readFileSync(cert, 'utf8')])
  return { cert, key }
}

/** A package of the built executable that says it is this version. */
export async function packaged(from: string, version: string, out: string): Promise<string> {
  const built = path.join(out, version)
  fs.mkdirSync(built)
  fs.linkSync(from, path.join(built, 'roomtone'))
  const args = [path.join(ROOT, 'scripts', 'package.mjs'), '--fast', '--from', built, '--out', out]
  const env = { ...process.env, ROOMTONE_VERSION: version }
  const { code, stderr } = await run(process.execPath, args, { env, timeoutMs: 120_000 })
  assert.equal(code, 0, stderr)
  return path.join(out, `roomtone_${version}_amd64.deb`)
}

export interface ReleaseHost {
  close(): void
  /** Public keys, PEM: of who signed, and of somebody else. */
  keys: { other: string; owner: string }
  url: string
}

const keyPair = () =>
  generateKeyPairSync('ed25519', {
    privateKeyEncoding: { format: 'pem', type: 'pkcs8' },
    publicKeyEncoding: { format: 'pem', type: 'spki' },
  })

/** What a host of several components' releases lists: an older one of ours last, and two that are none for us. */
const LIST = JSON.stringify(
  [
    ['runner-v9.0', false, false],
    ['agent-v2026.01.01-9', false, true],
    ['agent-v2026.01.01-1', false, false],
    ['agent-v2025.12.31-10', false, false],
  ].map(([tag_name, draft, prerelease]) => ({ tag_name, name: 'x', draft, prerelease })),
)

/** Two releases, agent-v2026.01.01-N: 1 is whole and signed; 2 is unsigned, and was damaged after its checksum was taken. */
export async function releaseHost(house: House, box: Machine, roomtone: string): Promise<ReleaseHost> {
  const dir = house.path('releases')
  const owner = keyPair()
  for (const n of [1, 2]) {
    const at = `${dir}/agent-v2026.01.01-${n}`
    const archive = `roomtone-2026.01.01-${n}-x86_64-unknown-linux-gnu.tar.gz`
    fs.mkdirSync(at, { recursive: true })
    const pack = `tar -cf - -C "${path.dirname(roomtone)}" roomtone | gzip -1 >${archive}; sha256sum ${archive} >SHA256SUMS`
    const damaged = `echo whole >${archive}; sha256sum ${archive} >SHA256SUMS; echo damaged >${archive}`
    await run('sh', ['-c', n === 1 ? pack : damaged], { cwd: at, timeoutMs: 120_000 })
    if (n === 2) continue
    const sums = fs.readFileSync(`${at}/SHA256SUMS`, 'utf8')
    fs.writeFileSync(`${at}/SHA256SUMS.sig`, signSums(sums, owner.privateKey))
  }
  fs.symlinkSync('agent-v2026.01.01-1', `${dir}/latest`)
  const server = http.createServer(({ url = '' }, response) => {
    if (url === '/api/v3/repos/owner/repo/releases?per_page=100') return void response.end(LIST)
    fs.createReadStream(path.join(dir, url.replace('/owner/repo/releases/download/', '/')))
      .on('error', () => response.writeHead(404).end())
      .pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, box.hostAddress, resolve))
  const { port } = server.address() as AddressInfo
  const keys = { other: keyPair().publicKey, owner: owner.publicKey }
  return { close: () => server.close(), keys, url: `http://${box.hostAddress}:${port}` }
}

/**
 * Programs of the system that do as they always do, but for the one call that $CALL names: that one fails, cuts the setup
 * off (kill -9), or has it stopped and waits for that.
 */
export async function fakePrograms(box: Machine): Promise<void> {
  const tools = ['apt-get', 'systemd-sysusers', 'systemd-tmpfiles', 'visudo', 'systemctl']
  for (const tool of tools)
    await box.write(
      `/root/fake/${tool}`,
      `#!/bin/sh
case "\${0##*/} $*" in
  "$CALL"*)
    [ "$HOW" != kill ] || kill -9 $PPID
    [ "$HOW" != stop ] || { kill -TERM $PPID; exec sleep 60; }
    echo "the disk is on fire" >&2
    exit 1 ;;
esac
exec "$(PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v "\${0##*/}")" "$@"
`,
      '0755',
    )
}
