// Builds the browser's half into a directory: every file compressed twice, and files.json that says what there is.
// Same sources, same bytes: nothing here looks at clock, user or path.
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import * as zlib from 'node:zlib'
import { type BuildOptions, type BuildResult, build, type Metafile } from 'esbuild'

const root = path.resolve(import.meta.dirname, '..')
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
}
/** Gzip bytes of what the browser loads before the first page, and of the largest part loaded later. */
export const BUDGET = { first: 90_000, part: 40_000, total: 300_000 }

/** The oldest that know what the console uses: `light-dark()`, `AbortSignal.any`, `Map.groupBy` (src/console/first.ts asks). */
const BROWSERS = ['chrome123', 'firefox124', 'safari17.5']

type Built = BuildResult<{ metafile: true; write: false }>
type Files = Map<string, Buffer>
type Sizes = Record<keyof typeof BUDGET, number>

/** Bundles src/console into `out`. @throws Error when the first load is over its budget, or the bundle holds what it must not */
export async function bundleConsole(out: string): Promise<Sizes> {
  fs.rmSync(out, { force: true, recursive: true })
  fs.mkdirSync(out, { recursive: true })
  const worker = await bundle({ 'meters.thread': 'src/console/meters/meters.thread.ts' }, {})
  // It also tells browsers that are too old for the rest.
  const early = await bundle({ first: 'src/console/first.ts' }, { format: 'iife', target: 'es2017' })
  const define = { METERS_THREAD: JSON.stringify(`/${entryOf(worker, 'src/console/meters/meters.thread.ts')}`) }
  const main = await bundle({ main: 'src/console/main.tsx' }, { define, splitting: true })
  const files: Files = new Map()
  for (const { outputFiles } of [worker, early, main])
    for (const { contents, path: file } of outputFiles) files.set(path.relative(virtual, file), Buffer.from(contents))
  const css = oneSheet(main, entryOf(main, 'src/console/main.tsx'), files)
  const names = {
    first: entryOf(early, 'src/console/first.ts'),
    main: entryOf(main, 'src/console/main.tsx'),
  }
  const initial = staticParts(main, names.main)
  files.set('index.html', page({ css, initial, ...names }))
  for (const name of ['icon.svg', 'roomtone.webmanifest'])
    files.set(name, fs.readFileSync(path.join(root, 'src/console', name)))
  const sizes = measure(files, [names.first, css, ...initial])
  refuse(files, sizes)
  write(out, files)
  return sizes
}

const virtual = path.join(root, 'virtual')
const inVirtual = (name: string): string => path.join('virtual', name)

const bundle = (entryPoints: Record<string, string>, more: BuildOptions): Promise<Built> =>
  build({
    absWorkingDir: root,
    bundle: true,
    charset: 'utf8',
    entryNames: 'assets/[name]-[hash]',
    assetNames: 'assets/[name]-[hash]',
    chunkNames: 'assets/[name]-[hash]',
    entryPoints,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    loader: { '.module.css': 'local-css' },
    logLevel: 'warning',
    metafile: true,
    minify: true,
    outdir: virtual,
    platform: 'browser',
    target: BROWSERS,
    write: false,
    ...more,
  } as BuildOptions) as Promise<Built>

function entryOf({ metafile }: Built, source: string): string {
  const [file] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === source) ?? []
  return path.relative('virtual', file as string)
}

/** The entry and what it imports at once. */
function staticParts({ metafile }: Built, entry: string): string[] {
  const found = new Set<string>()
  const visit = (name: string): void => {
    if (found.has(name)) return
    found.add(name)
    for (const { kind, path: file } of outputOf(metafile, name).imports)
      if (kind === 'import-statement') visit(path.relative('virtual', file))
  }
  visit(entry)
  return [...found]
}

/** Its one style sheet; a part loaded later cannot bring its own. @throws Error for a sheet that it does not hold */
function oneSheet({ metafile }: Built, entry: string, files: Files): string {
  const sheet = outputOf(metafile, entry).cssBundle as string
  const held = Object.keys(metafile.outputs[sheet]?.inputs ?? {})
  const left = Object.keys(metafile.inputs).filter((file) => file.endsWith('.css') && !held.includes(file))
  if (left.length > 0) throw new Error(`Import these in src/console/main.tsx: ${left.join(', ')}`)
  const css = path.relative('virtual', sheet)
  for (const name of [...files.keys()]) if (name.endsWith('.css') && name !== css) files.delete(name)
  return css
}

const outputOf = ({ outputs }: Metafile, name: string) => outputs[inVirtual(name)] as Metafile['outputs'][string]

interface PageParts {
  css: string
  first: string
  initial: string[]
  main: string
}

function page({ css, first, initial, main }: PageParts): Buffer {
  const text = fs.readFileSync(path.join(root, 'src/console/index.html'), 'utf8')
  const head = [
    `<script src="/${first}"></script>`,
    `<link rel="stylesheet" href="/${css}">`,
    ...initial.map((name) => `<link rel="modulepreload" href="/${name}">`),
    `<script type="module" src="/${main}"></script>`,
  ]
  return Buffer.from(text.replace('<!-- parts -->', head.join('\n    ')))
}

function measure(files: Files, first: string[]): Sizes {
  const size = (name: string): number => zlib.gzipSync(files.get(name) as Buffer, { level: 9 }).length
  const later = [...files.keys()].filter((name) => !first.includes(name))
  return {
    first: first.reduce((sum, name) => sum + size(name), 0),
    part: Math.max(0, ...later.map(size)),
    total: [...files.keys()].reduce((sum, name) => sum + size(name), 0),
  }
}

function refuse(files: Files, sizes: Sizes): void {
  for (const [what, limit] of Object.entries(BUDGET) as [keyof Sizes, number][])
    if (sizes[what] > limit)
      throw new Error(`The console is too large: ${what} ${sizes[what]} bytes of at most ${limit}.`)
  for (const [name, bytes] of files)
    if (/ZodError|node:fs|better-sqlite3/.test(bytes.toString('latin1')))
      throw new Error(`${name} of the console holds a module of the server.`)
}

/** Brotli and gzip of each file; the plain one is unpacked for a client that takes neither. */
function write(out: string, files: Files): void {
  const list: Record<string, object> = {}
  for (const [name, bytes] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const quality = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 11 } }
    fs.mkdirSync(path.dirname(path.join(out, name)), { recursive: true })
    fs.writeFileSync(path.join(out, `${name}.br`), zlib.brotliCompressSync(bytes, quality))
    fs.writeFileSync(path.join(out, `${name}.gz`), zlib.gzipSync(bytes, { level: 9 }))
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    list[name] = { immutable: name.startsWith('assets/'), sha256, type: TYPES[path.extname(name)] }
  }
  fs.writeFileSync(path.join(out, 'files.json'), JSON.stringify(list))
}
