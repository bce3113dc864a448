import assert from 'node:assert/strict'
import * as crypto from 'node:crypto'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { askedFor } from '../../../../src/controller/fleet/releases/repository.rules.ts'
import { ReleaseRepository } from '../../../../src/controller/fleet/releases/repository.ts'
import { packFolder } from '../../../../src/system/host/archive.ts'
import {
  type Arch,
  archiveName,
  archiveOf,
  compareVersions,
  parseSums,
  sumLine,
  versionOfTag,
} from '../../../../src/system/host/release.rules.ts'
import { digestOfFile, releaseFault, signSums } from '../../../../src/system/host/release.ts'
import { kit, sha256 } from '../../../kit/kit.ts'
import { json, peer } from '../../../kit/peer.ts'

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-depot-'))
after(() => fs.rmSync(scratch, { recursive: true }))
let folders = 0
const folder = (): string => {
  folders++
  const dir = path.join(scratch, String(folders))
  fs.mkdirSync(dir)
  return dir
}
const keys = () => {
  const { privateKey, publicKey } = crypto.generateKeyPairSync('ed25519')
  return {
    private: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    public: publicKey.export({ type: 'spki', format: 'pem' }) as string,
  }
}

/** A release as it lies in a folder; the archives hold their own names. */
function release(dir: string, version: string, arches: Arch[], privateKey?: string): string {
  const at = path.join(dir, `agent-v${version}`)
  fs.mkdirSync(at, { recursive: true })
  let sums = ''
  for (const name of arches.map((arch) => archiveName(version, arch))) {
    fs.writeFileSync(path.join(at, name), `bytes of ${name}`)
    sums += sumLine(name, sha256(`bytes of ${name}`))
  }
  fs.writeFileSync(path.join(at, 'SHA256SUMS'), sums)
  if (privateKey) fs.writeFileSync(path.join(at, 'SHA256SUMS.sig'), signSums(sums, privateKey))
  return at
}

async function world(dir: string, env: Record<string, string> = {}) {
  const k = kit({ env: { SVC_AGENT_RELEASE_DIR: dir, ...env } })
  const { id, agent } = await k.enroll()
  k.forget()
  return { agent, id, k, get: (file: string, headers = {}) => agent.get(`/nodes/${id}/agent-release/${file}`, headers) }
}

test('names: tags, archives, checksums', () => {
  assert.equal(versionOfTag('agent-v2026.11.21-1'), '2026.11.21-1')
  for (const tag of ['v1', 'agent-v2026.11.21', 'agent-v2026.1.21-1', 'agent-v2026.11.21-1 ', 'Agent-v2026.11.21-1'])
    assert.equal(versionOfTag(tag), undefined)
  for (const version of ['2026.11.21-1', '0.1.0', '0.0.0-dev', 'latest'])
    for (const arch of ['x64', 'arm64'] as const)
      assert.deepEqual(archiveOf(archiveName(version, arch)), { arch, version })
  assert.equal(archiveOf('roomtone-../x-x86_64-unknown-linux-gnu.tar.gz'), undefined)
  assert.ok(compareVersions('2026.03.02-10', '2026.03.02-9') > 0)
  assert.ok(compareVersions('0.1.0', '2026.03.02-9') < 0)
  const digest = sha256('x')
  assert.deepEqual(
    [...parseSums(`${digest.toUpperCase()} *a\n\n${digest}  b c\n`)],
    [
      ['a', digest],
      ['b c', digest],
    ],
  )
  for (const bad of ['no digest', `${digest}  ../x`, `${digest.slice(1)}  a`, `${digest}  `])
    assert.throws(() => parseSums(bad), /not a checksum/)
})

test('names that are asked for: an archive, its checksum, the list, its signature, what the release is', () => {
  const [x64, tag] = [archiveName('latest', 'x64'), 'agent-v2026.11.21-1']
  assert.deepEqual(askedFor(x64), { arch: 'x64', kind: 'archive', version: 'latest' })
  assert.deepEqual(askedFor(`${x64}.sha256`), { arch: 'x64', kind: 'digest', version: 'latest' })
  assert.deepEqual(askedFor('SHA256SUMS'), { kind: 'sums', version: 'latest' })
  assert.deepEqual(askedFor('SHA256SUMS.sig'), { kind: 'signature', version: 'latest' })
  assert.deepEqual(askedFor(`${tag}.SHA256SUMS.sig`), { kind: 'signature', version: '2026.11.21-1' })
  assert.deepEqual(askedFor(tag), { kind: 'facts', version: '2026.11.21-1' })
  for (const nothing of ['', '..', '../x', '-', 'a b', '.SHA256SUMS', 'x/SHA256SUMS', 'a'.repeat(81)])
    assert.equal(askedFor(nothing), undefined, nothing)
})

test('a node gets the newest release by name, whole, in ranges, and not again when it has it', async () => {
  const dir = folder()
  release(dir, '2026.11.20-9', ['x64', 'arm64'])
  release(dir, '2026.11.20-10', ['x64', 'arm64'])
  const { get, k } = await world(dir)
  const name = archiveName('2026.11.20-10', 'x64')
  const bytes = `bytes of ${name}`
  const facts = (await get('latest')).json.data
  assert.deepEqual([facts.tag, facts.version], ['agent-v2026.11.20-10', '2026.11.20-10'])
  assert.deepEqual(facts.files[0], {
    arch: 'x64',
    name,
    sha256: sha256(bytes),
    size: bytes.length,
    version: '2026.11.20-10',
  })
  for (const asked of [name, archiveName('latest', 'x64')]) {
    const answer = await get(asked)
    assert.deepEqual([answer.status, answer.text], [200, bytes])
    assert.equal(answer.headers.get('content-disposition'), `attachment; filename="${name}"`)
  }
  const part = await get(name, { range: 'bytes=6-7' })
  assert.deepEqual([part.status, part.text], [206, bytes.slice(6, 8)])
  assert.equal((await get(name, { 'if-none-match': `"${sha256(bytes)}"` })).status, 304)
  assert.equal((await get(`${archiveName('latest', 'x64')}.sha256`)).text, sumLine(name, sha256(bytes)))
  assert.equal((await get('SHA256SUMS')).text.split('\n')[0], sumLine(name, sha256(bytes)).trim())
  assert.match((await get('agent-v2026.11.20-9.SHA256SUMS')).text, /2026\.11\.20-9-x86_64/)
  assert.equal((await get(archiveName('2026.11.20-9', 'arm64'))).status, 200)
  const absent = ['agent-v2026.11.20-8', archiveName('2026.11.20-8', 'x64'), 'SHA256SUMS.sig', '%2e%2e%2fx', 'roomtone']
  for (const nothing of absent) assert.equal((await get(nothing)).status, 404, nothing)
  await k.close()
})

test('who may: the node itself, and the box that will be it, whose bootstrap token is not spent by that', async () => {
  const dir = folder()
  release(dir, '2026.11.20-1', ['x64'])
  const { agent, get, id, k } = await world(dir)
  const other = await k.enroll('Other')
  const { token } = (await k.as('admin').post(`/nodes/${id}/bootstrap-token`, { ttlSeconds: 60 })).json.data
  const guest = k.bearer(token)
  k.forget()
  for (const _ of [1, 2, 3]) assert.equal((await guest.get(`/nodes/${id}/agent-release/latest`)).status, 200)
  assert.equal((await get('latest')).status, 200)
  assert.equal((await get('latest')).status, 200)
  // Like heartbeats: an unchanged machine call is told once per window (ADR-0004).
  assert.deepEqual(k.trail(), [
    'nodes.agent_release.install.succeeded succeeded',
    'nodes.agent_release.download.succeeded succeeded',
  ])
  assert.equal((await guest.get(`/nodes/${other.id}/agent-release/latest`)).status, 401)
  assert.equal((await agent.get(`/nodes/${other.id}/agent-release/latest`)).status, 403)
  assert.equal((await k.as('admin').get(`/nodes/${id}/agent-release/latest`)).status, 401)
  assert.equal((await k.bearer(undefined).get(`/nodes/${id}/agent-release/latest`)).status, 401)
  assert.equal(k.rows('SELECT 1 FROM bootstrap_tokens WHERE consumed_at IS NOT NULL').length, 0)
  k.advance('61s')
  assert.equal((await guest.get(`/nodes/${id}/agent-release/latest`)).status, 401)
  await k.close()
})

test('what does not fit its checksum, or bears no signature where one is asked for, is not offered and told once', async () => {
  const [ours, theirs] = [keys(), keys()]
  const dir = folder()
  release(dir, '2026.11.20-1', ['x64', 'arm64'], ours.private)
  const damaged = release(dir, '2026.11.20-2', ['x64', 'arm64'], ours.private)
  fs.appendFileSync(path.join(damaged, archiveName('2026.11.20-2', 'x64')), 'x')
  release(dir, '2026.11.20-3', ['x64'])
  release(dir, '2026.11.20-4', ['x64'], theirs.private)
  fs.rmSync(path.join(release(dir, '2026.11.20-5', ['x64']), 'SHA256SUMS'))
  release(dir, '2026.11.20-6', ['arm64'])
  const { get, k } = await world(dir, { SVC_AGENT_RELEASE_PUBLIC_KEY: ours.public })
  const latest = (await get('latest')).json.data
  assert.deepEqual(
    latest.files.map((file: { arch: string; version: string }) => `${file.arch} ${file.version}`),
    ['x64 2026.11.20-1', 'arm64 2026.11.20-2'],
  )
  // A list that was put together is nobody's signed one; that of a single release is.
  assert.equal((await get('SHA256SUMS.sig')).status, 404)
  const [sums, file] = [(await get('agent-v2026.11.20-1.SHA256SUMS')).text, archiveName('2026.11.20-1', 'x64')]
  assert.equal((await get('agent-v2026.11.20-1.SHA256SUMS.sig')).status, 200)
  const signature = signSums(sums, ours.private)
  const on = path.join(dir, 'agent-v2026.11.20-1', file)
  assert.equal(await releaseFault(on, file, { key: ours.public, signature, sums }), undefined)
  assert.match(
    (await releaseFault(on, file, { key: theirs.public, signature, sums })) ?? '',
    /does not match the release key/,
  )
  assert.match((await releaseFault(on, file, { key: ours.public, sums })) ?? '', /not signed/)
  assert.match((await releaseFault(on, 'other', { sums })) ?? '', /does not list other/)
  const told = k.logged.filter((line) => line.includes('release not offered'))
  assert.deepEqual(
    told.map((line) => JSON.parse(line).reason.slice(0, 14)),
    ['its SHA-256 is', 'The release is', 'The signature ', 'The release is'],
  )
  await k.close()
})

test('the update check names what this controller holds, and calls no build without a calendar version an update', async () => {
  const dir = folder()
  const { get, k } = await world(dir)
  const read = async () => (await k.as('viewer').get('/nodes/agent-release')).json
  assert.deepEqual(await read(), { data: null, reason: 'release_source_unconfigured' })
  release(dir, '2026.11.20-1', ['arm64'])
  await get('latest')
  const data = { hosted: ['arm64'], tag: 'agent-v2026.11.20-1', version: '2026.11.20-1' }
  assert.deepEqual(await read(), { data })
  await k.close()
})

test('the own executable is packed once when nothing else is there, with its paper, the same bytes each time', async () => {
  const made: Buffer[] = []
  for (const _ of [1, 2]) {
    const [dir, file] = [folder(), path.join(folder(), 'exe')]
    fs.writeFileSync(file, 'an executable', { mode: 0o700 })
    const running = { arch: 'x64' as const, file, papers: { LICENSE: 'may be used\n' }, version: '0.1.0' }
    const warned: string[] = []
    const log = { debug() {}, error() {}, info() {}, warn: (message: string) => void warned.push(message) }
    fs.mkdirSync(path.join(dir, 'releases', '.packing-cut'), { recursive: true })
    const repository = new ReleaseRepository({ dir: path.join(dir, 'releases'), log, publicKey: undefined, running })
    const offers = await Promise.all([
      repository.offer('latest'),
      repository.offer('0.1.0'),
      repository.offer('latest'),
    ])
    assert.equal(new Set(offers.map((offer) => offer?.archives[0]?.sha256)).size, 1)
    const archive = path.join(repository.dir, offers[0]?.archives[0]?.path ?? '')
    made.push(fs.readFileSync(archive))
    assert.deepEqual(fs.readdirSync(repository.dir), ['.own'])
    // The next start finds it as it is.
    const { ino } = fs.statSync(archive)
    const again = new ReleaseRepository({ dir: repository.dir, log, publicKey: undefined, running })
    assert.equal((await again.offer('latest'))?.archives[0]?.sha256, offers[0]?.archives[0]?.sha256)
    assert.equal(fs.statSync(archive).ino, ino)
    // Somebody tidied up: it is packed again.
    fs.rmSync(path.dirname(archive), { recursive: true })
    assert.equal((await again.offer('latest'))?.archives[0]?.sha256, offers[0]?.archives[0]?.sha256)
    assert.ok(fs.existsSync(archive))
    // A release of the directory goes before it; another architecture is added to what it is.
    const full = release(repository.dir, '2026.11.20-1', ['x64', 'arm64'])
    fs.rmSync(path.join(full, archiveName('2026.11.20-1', 'x64')))
    const both = await repository.offer('latest')
    assert.deepEqual(
      both?.archives.map((one) => one.version),
      ['0.1.0', '2026.11.20-1'],
    )
    assert.deepEqual([...parseSums(both?.sums ?? '').keys()].sort(), both?.archives.map((one) => one.name).sort())
    release(repository.dir, '2026.11.20-2', ['x64', 'arm64'])
    assert.deepEqual(
      (await repository.offer('latest'))?.archives.map((one) => one.version),
      ['2026.11.20-2', '2026.11.20-2'],
    )
    assert.equal(await repository.offer('9.9'), undefined)
    assert.deepEqual(warned, [])
    await repository.stop()
  }
  assert.deepEqual(made[0], made[1])
})

test('a new release is fetched whole, proved, over redirects that do not see the token; the newest three stay', async () => {
  const [dir, store, { public: publicKey, private: privateKey }] = [folder(), folder(), keys()]
  const files = await peer((asked, response) => {
    const file = path.join(store, asked.url)
    if (fs.existsSync(file)) response.end(fs.readFileSync(file))
    else response.writeHead(404).end()
  })
  const versions = ['2026.11.20-1', '2026.11.20-2', '2026.11.20-3', '2026.11.20-4']
  const host = await peer((asked, response) => {
    const base = `http://${asked.headers.host}`
    if (asked.url.startsWith('/file/'))
      return void response.writeHead(302, { location: `${files.url}${asked.url.slice(5)}` }).end()
    const list = versions.slice(0, at).map((version) => {
      const tag = `agent-v${version}`
      const names = fs.readdirSync(release(store, version, ['x64', 'arm64'], privateKey))
      const assets = names.map((name) => ({
        browser_download_url: 'http://127.0.0.1:9/',
        name,
        url: `${base}/file/${tag}/${name}`,
      }))
      return { assets, tag_name: tag }
    })
    json(list)(asked, response)
  })
  let at = 0
  const { get, k } = await world(dir, {
    SVC_AGENT_RELEASE_PUBLIC_KEY: publicKey,
    SVC_AGENT_RELEASE_REPO: 'acme/roomtone',
    SVC_GITHUB_API_URL: host.url,
    SVC_GITHUB_TOKEN: 'github-token',
  })
  for (const version of versions) {
    at++
    k.advance('31m')
    await k.tick('agent-release')
    const { data } = (await k.as('viewer').get('/nodes/agent-release')).json
    assert.deepEqual([data.version, data.hosted], [version, ['arm64', 'x64']])
  }
  assert.deepEqual(
    fs.readdirSync(dir).sort(),
    versions.slice(1).map((version) => `agent-v${version}`),
  )
  assert.equal((await get('SHA256SUMS.sig')).status, 200)
  assert.ok(files.asked.every(({ headers }) => headers.authorization === undefined))
  assert.ok(host.asked.every(({ headers }) => headers.authorization === 'Bearer github-token'))
  const asked = files.asked.length
  await k.tick('agent-release')
  assert.equal(files.asked.length, asked, 'what is there is not fetched again')
  await Promise.all([k.close(), host.close(), files.close()])
})

test('a release that cannot be fetched whole leaves nothing, is told once and tried again', async () => {
  const [dir, store, version] = [folder(), folder(), '2026.11.20-1']
  const from = release(store, version, ['x64'])
  let broken: 'cut' | 'damaged' | 'missing' | undefined = 'damaged'
  const name = archiveName(version, 'x64')
  const host = await peer((asked, response) => {
    if (asked.url.includes('/releases')) {
      const names = broken === 'missing' ? [name] : [name, 'SHA256SUMS']
      const assets = names.map((one) => ({ browser_download_url: `http://${asked.headers.host}/${one}`, name: one }))
      return json([{ assets, tag_name: `agent-v${version}` }])(asked, response)
    }
    const bytes = fs.readFileSync(path.join(from, path.basename(asked.url)))
    if (broken === undefined || asked.url === '/SHA256SUMS') return void response.end(bytes)
    if (broken === 'damaged') return void response.end('something else')
    response.writeHead(200, { 'content-length': bytes.length }).write(bytes.subarray(0, 5), () => response.destroy())
  })
  const { get, k } = await world(dir, { SVC_AGENT_RELEASE_REPO: 'acme/roomtone', SVC_GITHUB_API_URL: host.url })
  const told = () => k.logged.filter((line) => line.includes('could not be fetched')).length
  for (const [kind, count] of [
    ['damaged', 1],
    ['damaged', 1],
    ['cut', 2],
    ['missing', 3],
  ] as const) {
    broken = kind
    k.advance('31m')
    await k.tick('agent-release')
    assert.deepEqual([kind, told(), fs.readdirSync(dir)], [kind, count, []])
    const asked = host.asked.length
    await k.tick('agent-release')
    assert.equal(host.asked.length, asked, 'what failed is left alone for a while')
    assert.equal((await get('latest')).status, 404)
  }
  // A download that a crash left behind goes with the next one.
  fs.mkdirSync(path.join(dir, '.fetching-old'))
  broken = undefined
  k.advance('31m')
  await k.tick('agent-release')
  assert.deepEqual(fs.readdirSync(dir), [`agent-v${version}`])
  assert.equal((await get(name)).text, `bytes of ${name}`)
  await Promise.all([k.close(), host.close()])
})

test('the own executable is packed soon after the start, before anybody asks for it', async () => {
  const [dir, file] = [folder(), path.join(folder(), 'exe')]
  fs.writeFileSync(file, 'an executable', { mode: 0o700 })
  const running = { arch: 'x64' as const, file, papers: {}, version: '0.1.0' }
  const k = kit({ env: { SVC_AGENT_RELEASE_DIR: dir }, running })
  const archive = path.join(dir, '.own', archiveName('0.1.0', 'x64'))
  await k.tick('own-release')
  assert.equal(fs.existsSync(archive), false, 'the start itself is left alone')
  k.advance('30s')
  await k.tick('own-release')
  const { ino } = fs.statSync(archive)
  const { agent, id } = await k.enroll()
  assert.equal((await agent.get(`/nodes/${id}/agent-release/latest`)).status, 200)
  assert.equal(fs.statSync(archive).ino, ino)
  await k.close()
})

test('a release key that is none stops the start; a directory that cannot be written is told to whoever asks', async () => {
  const { publicKey } = crypto.generateKeyPairSync('x25519')
  for (const key of ['no key', publicKey.export({ type: 'spki', format: 'pem' }) as string])
    assert.throws(
      () => kit({ env: { SVC_AGENT_RELEASE_PUBLIC_KEY: key } }),
      /PUBLIC_KEY is not usable: expected an Ed25519/,
    )
  const dir = path.join(folder(), 'a file')
  fs.writeFileSync(dir, '')
  const k = kit({
    env: { SVC_AGENT_RELEASE_DIR: dir },
    running: { arch: 'x64', file: process.execPath, papers: {}, version: '0.1.0' },
  })
  const { id, agent } = await k.enroll()
  const answer = await agent.get(`/nodes/${id}/agent-release/latest`)
  assert.deepEqual([answer.status, answer.json.reason], [503, 'release_not_ready'])
  assert.equal(k.logged.filter((line) => line.includes('could not be packed')).length, 1)
  await k.close()
})

test('an archive depends on its files alone: not on their times, order, owner or the name of their folder', async () => {
  const digests = new Set<string>()
  for (const names of [
    ['a', 'b'],
    ['b', 'a'],
  ]) {
    const dir = folder()
    for (const name of names) fs.writeFileSync(path.join(dir, name), name, { mode: 0o600 })
    fs.utimesSync(path.join(dir, 'a'), 0, digests.size * 1000)
    await packFolder(dir, names, path.join(dir, 'x.tar.gz'))
    digests.add(await digestOfFile(path.join(dir, 'x.tar.gz')))
  }
  assert.equal(digests.size, 1)
  await assert.rejects(packFolder('/nowhere', ['a'], path.join(scratch, 'x')), /tar could not make/)
})
