// Makes a release of this commit in dist/release/<tag>/: archives, checksums, signature, list of components, installers,
// packages, notes. The same commit gives the same bytes, wherever and whenever it is done.
// usage: npm run release -- [--tag agent-vYYYY.MM.DD-N] [--key FILE] [--arch x64,arm64] [--changed]
//   --tag      otherwise the commit's own tag, or the date of the commit (UTC) with the next free number
//   --key      Ed25519 private key (PEM); signs SHA256SUMS
//   --changed  allows a working tree with changes: a trial, no release
import { execFileSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { packFolder } from '../src/system/host/archive.ts'
import { archiveName, DIGEST, SIGNATURE, SUMS, sumLine, versionOfTag } from '../src/system/host/release.rules.ts'
import { digestOfFile, isSigned, signSums } from '../src/system/host/release.ts'
import { componentsOf } from './components.rules.ts'
import { optionsOf } from './options.mjs'
import { notes, tagFor } from './release.rules.ts'

const options = optionsOf(import.meta.filename, {
  arch: { type: 'string', default: 'x64,arm64' },
  changed: { type: 'boolean', default: false },
  key: { type: 'string' },
  tag: { type: 'string' },
})
const root = path.resolve(import.meta.dirname, '..')
const BUILT = { x64: 'roomtone', arm64: 'roomtone-linux-arm64' }
const EXECUTABLE = 'roomtone'

const tag = options.tag ?? tagOfCommit()
const version = versionOfTag(tag)
const day = Date.parse(version?.slice(0, 10).replaceAll('.', '-'))
if (Number.isNaN(day)) fail(`"${tag}" is no tag of the form agent-vYYYY.MM.DD-N.`)
if (!options.changed) demandCommit()
const key = options.key === undefined ? undefined : fs.readFileSync(options.key, 'utf8')
if (key) signSums('', key) // an unusable key is told before anything is built

fs.mkdirSync(path.join(root, '.cache'), { recursive: true })
const work = fs.mkdtempSync(path.join(root, '.cache', 'release-'))
try {
  const made = path.join(work, 'made')
  fs.mkdirSync(made)
  script('build.mjs', '--out', path.join(work, 'dist'))
  script('scripts/package.mjs', '--from', path.join(work, 'dist'), '--out', made)
  await Promise.all(options.arch.split(',').map((arch) => pack(arch, made)))
  copy(made)
  write(made, `roomtone-${version}.cdx.json`, components())
  write(made, 'RELEASE-NOTES.md', notes(fs.readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8'), version))
  await prove(made)
  publish(made)
} finally {
  fs.rmSync(work, { recursive: true, force: true })
}

/** The commit's own tag, or its day with the next free number. */
function tagOfCommit() {
  const lines = (text) => text.split('\n').filter(Boolean)
  const day = git('show', '-s', '--format=%cd', '--date=format-local:%Y.%m.%d', 'HEAD')
  return tagFor(day, lines(git('tag', '--points-at', 'HEAD')), lines(git('tag', '--list', 'agent-v*')))
}

/** A release can be made again: from a commit, and from no other one of that name. */
function demandCommit() {
  if (git('status', '--porcelain')) fail('There are uncommitted changes: a release is made of a commit.')
  const named = git('tag', '--list', tag) && git('rev-list', '-n', '1', tag)
  if (named && named !== git('rev-parse', 'HEAD'))
    fail(`${tag} is another commit: check it out, or take the next number.`)
}

/** Apart from dist/, where people run what they build; times are the day in the tag. */
function script(name, ...more) {
  const env = { ...process.env, ROOMTONE_VERSION: version, SOURCE_DATE_EPOCH: String(day / 1000) }
  const args = [name, '--arch', options.arch, ...more]
  execFileSync(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] })
}

async function pack(arch, made) {
  const folder = path.join(work, arch)
  fs.mkdirSync(folder)
  fs.renameSync(path.join(work, 'dist', BUILT[arch]), path.join(folder, EXECUTABLE))
  const papers = ['LICENSE', 'NOTICE']
  fs.copyFileSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'))
  fs.copyFileSync(path.join(work, 'dist', 'bundle', 'NOTICE'), path.join(folder, 'NOTICE'))
  await packFolder(folder, [...papers, EXECUTABLE], path.join(made, archiveName(version, arch)))
}

/** What a technician takes along besides the archives. The map makes stack traces readable. */
function copy(made) {
  for (const script of ['install-agent.sh', 'install-controller.sh']) {
    const file = path.join(root, 'scripts', script)
    if (fs.existsSync(file)) fs.copyFileSync(file, path.join(made, script))
  }
  fs.copyFileSync(path.join(work, 'dist', 'bundle', 'main.cjs.map'), path.join(made, `roomtone-${version}.cjs.map`))
}

function components() {
  const { packages } = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8'))
  return `${JSON.stringify(componentsOf(packages, version), null, 2)}\n`
}

/** Checksums of everything, each archive's beside it, and the signature: what it signs is checked as a node would. */
async function prove(made) {
  let sums = ''
  for (const name of fs.readdirSync(made).sort()) {
    const line = sumLine(name, await digestOfFile(path.join(made, name)))
    if (name.endsWith('.tar.gz')) write(made, name + DIGEST, line)
    sums += line
  }
  write(made, SUMS, sums)
  if (!key) return
  const signature = signSums(sums, key)
  if (!isSigned(sums, signature, createPublicKey(key).export({ type: 'spki', format: 'pem' })))
    fail('The signature does not fit its own key.')
  write(made, SIGNATURE, signature)
}

function publish(made) {
  const target = path.join(root, 'dist', 'release', tag)
  fs.chmodSync(made, 0o755)
  for (const name of fs.readdirSync(made)) fs.chmodSync(path.join(made, name), name.endsWith('.sh') ? 0o755 : 0o644)
  fs.rmSync(target, { recursive: true, force: true })
  fs.mkdirSync(path.dirname(target), { recursive: true })
  fs.renameSync(made, target)
  console.log(`\ndist/release/${tag}${options.key ? ' (signed)' : ''}`)
  for (const name of fs.readdirSync(target).sort())
    console.log(`${String(fs.statSync(path.join(target, name)).size).padStart(11)}  ${name}`)
}

function write(dir, name, content) {
  fs.writeFileSync(path.join(dir, name), content, { mode: 0o644 })
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', env: { ...process.env, TZ: 'UTC' } }).trim()
}

function fail(message) {
  throw new Error(message)
}
