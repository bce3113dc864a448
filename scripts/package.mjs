// Makes Debian packages: dist/roomtone_<version>_<amd64|arm64>.deb, with dpkg-deb. The same commit gives the same bytes.
// usage: npm run package -- [--arch x64|arm64|x64,arm64] [--from DIR] [--out DIR] [--fast]
//   --from  executables that are built already, as build.mjs leaves them; otherwise they are built
//   --out   in place of dist
//   --fast  packed in a third of the time, a tenth larger: to try things
// The version is ROOMTONE_VERSION or package.json's; times are SOURCE_DATE_EPOCH or the commit's.
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { optionsOf } from './options.mjs'

const options = optionsOf(import.meta.filename, {
  arch: { type: 'string', default: 'x64' },
  fast: { type: 'boolean', default: false },
  from: { type: 'string' },
  out: { type: 'string', default: 'dist' },
})
const root = path.resolve(import.meta.dirname, '..')
const BUILT = { x64: 'roomtone', arm64: 'roomtone-linux-arm64' }
const DEBIAN = { x64: 'amd64', arm64: 'arm64' }
/** Folders of deploy/ that an administrator of a Debian machine copies from. */
const EXAMPLES = ['cloud-init', 'grafana', 'litestream', 'prometheus', 'standby']
const MAINTAINER = 'The Roomtone authors <roomtone@localhost>'
/** What systemd/<name>.<ending> becomes in the package. */
const PLACES = {
  rules: 'usr/lib/udev/rules.d/',
  service: 'usr/lib/systemd/system/',
  sudoers: 'etc/sudoers.d/roomtone',
  sysusers: 'usr/lib/sysusers.d/roomtone.conf',
  target: 'usr/lib/systemd/system/',
  timer: 'usr/lib/systemd/system/',
  tmpfiles: 'usr/lib/tmpfiles.d/roomtone.conf',
}
const version = process.env.ROOMTONE_VERSION || JSON.parse(read('package.json')).version
const arches = options.arch.split(',')
for (const arch of arches) if (!Object.hasOwn(DEBIAN, arch)) fail(`There is no package for "${arch}": x64, arm64.`)
if (!/^[0-9][A-Za-z0-9.+~]*(-[A-Za-z0-9.+~]+)?$/.test(version)) fail(`"${version}" is no version of a Debian package.`)
const epoch = Number(process.env.SOURCE_DATE_EPOCH || commitTime())

fs.mkdirSync(path.join(root, '.cache'), { recursive: true })
const work = fs.mkdtempSync(path.join(root, '.cache', 'package-'))
try {
  const built = options.from ?? build()
  for (const arch of arches) pack(arch, built)
} finally {
  fs.rmSync(work, { recursive: true, force: true })
}

function build() {
  const out = path.join(work, 'dist')
  const args = ['build.mjs', '--arch', options.arch, '--out', out]
  execFileSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  return out
}

function pack(arch, built) {
  const tree = path.join(work, arch)
  const put = (file, content, mode = 0o644) => {
    const at = path.join(tree, file)
    fs.mkdirSync(path.dirname(at), { recursive: true })
    fs.writeFileSync(at, content)
    fs.chmodSync(at, mode)
  }
  put(`opt/roomtone/versions/${version}/roomtone`, fs.readFileSync(path.join(built, BUILT[arch])), 0o755)
  for (const name of fs.readdirSync(path.join(root, 'systemd'))) {
    const place = PLACES[name.split('.').at(-1)] ?? fail(`Where does systemd/${name} go? Nobody told this script.`)
    put(place.endsWith('/') ? place + name : place, read('systemd', name), place.startsWith('etc/') ? 0o440 : 0o644)
  }
  fs.mkdirSync(path.join(tree, 'usr/bin'), { recursive: true })
  fs.symlinkSync('/opt/roomtone/bin/roomtone', path.join(tree, 'usr/bin/roomtone'))
  fs.mkdirSync(path.join(tree, 'opt/roomtone/bin'))
  papers(put, built)
  control(put, tree, arch)
  const name = `roomtone_${version}_${DEBIAN[arch]}.deb`
  debian(tree, path.join(work, name))
  const to = path.resolve(root, options.out, name)
  fs.mkdirSync(path.dirname(to), { recursive: true })
  // Beside it first: another disk than ours may be asked for.
  fs.copyFileSync(path.join(work, name), `${to}.part`)
  fs.renameSync(`${to}.part`, to)
  console.log(`${path.relative(root, to)}: ${(fs.statSync(to).size / 1e6).toFixed(1)} MB`)
}

function papers(put, built) {
  const license = read('LICENSE')
  const [, holder] = /^Copyright \(c\) (.+)$/m.exec(license)
  // After the copyright line; as the format wants it: indented, and a dot for an empty line.
  const text = license.slice(license.indexOf(holder) + holder.length).trim()
  const body = text.replaceAll(/^/gm, ' ').replaceAll(/^ $/gm, ' .')
  const docs = 'usr/share/doc/roomtone'
  const copyright = read('scripts', 'deb', 'copyright')
    .replace('@HOLDER@', holder)
    .replace('@LICENSE@', () => body)
  put(`${docs}/copyright`, copyright)
  put(`${docs}/CHANGELOG.md.gz`, gzip(read('CHANGELOG.md')))
  put(`${docs}/${version.includes('-') ? 'changelog.Debian.gz' : 'changelog.gz'}`, gzip(entry()))
  put('usr/share/lintian/overrides/roomtone', read('scripts', 'deb', 'lintian-overrides'))
  const notice = path.join(built, 'bundle', 'NOTICE')
  if (fs.existsSync(notice)) put(`${docs}/NOTICE.gz`, gzip(fs.readFileSync(notice)))
  for (const name of EXAMPLES)
    for (const file of fs.readdirSync(path.join(root, 'deploy', name)))
      put(`${docs}/examples/${name}/${file}`, read('deploy', name, file))
}

/** The runtime's own zlib packs differently on another processor; lintian wants the hardest compression and no time. */
function gzip(input) {
  return execFileSync('gzip', ['-9n'], { input })
}

/** The one entry Debian's tools look for. */
function entry() {
  const date = new Date(epoch * 1000).toUTCString().replace('GMT', '+0000')
  return `roomtone (${version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- ${MAINTAINER}  ${date}\n`
}

function control(put, tree, arch) {
  const size = Math.ceil(bytesBelow(tree) / 1024)
  put(
    'DEBIAN/control',
    `Package: roomtone
Version: ${version}
Architecture: ${DEBIAN[arch]}
Maintainer: ${MAINTAINER}
Installed-Size: ${size}
Depends: libc6 (>= 2.34), systemd (>= 250), ffmpeg, alsa-utils, openssh-server, openssh-client, sudo, ca-certificates, curl
Suggests: smbclient, jackd2
Section: sound
Priority: optional
Description: fleet of room recorders in one executable
 The controller of a fleet of recorders, the recorder agent of one room, and
 the runner that maintains recorders over SSH. Nothing of it runs before it is
 asked to: see "roomtone setup --help".
`,
  )
  put('DEBIAN/conffiles', '/etc/sudoers.d/roomtone\n')
  for (const name of ['postinst', 'prerm', 'postrm'])
    put(`DEBIAN/${name}`, read('scripts', 'deb', name).replaceAll('@VERSION@', version), 0o755)
}

/**
 * gzip: every dpkg reads it, and its bytes do not depend on the number of cores. The hardest compression would take three
 * times as long for half a percent.
 */
function debian(tree, to) {
  for (const at of [tree, ...fs.readdirSync(tree, { recursive: true }).map((name) => path.join(tree, name))])
    if (fs.lstatSync(at).isDirectory()) fs.chmodSync(at, 0o755)
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(epoch) }
  const level = options.fast ? '-z1' : '-z6'
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', level, '--build', tree, to], { env, stdio: 'pipe' })
}

function bytesBelow(dir) {
  const entries = fs.readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return entries.reduce((sum, { name, parentPath }) => sum + fs.statSync(path.join(parentPath, name)).size, 0)
}

function commitTime() {
  return execFileSync('git', ['show', '-s', '--format=%ct', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
}

function read(...parts) {
  return fs.readFileSync(path.join(root, ...parts), 'utf8')
}

function fail(message) {
  throw new Error(message)
}
