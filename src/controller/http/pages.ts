// Serves the console: embedded files, compressed when the program was built. No audit row and no database.
import * as zlib from 'node:zlib'
import { assetBytes } from '../../kernel/assets.ts'
import { DOCUMENT, withDefaults } from './headers.ts'

interface ConsoleFile {
  /** Its name changes with its content: a browser may keep it for ever. */
  immutable: boolean
  sha256: string
  type: string
}
type ConsoleFiles = Record<string, ConsoleFile>

const IMMUTABLE = 'public, max-age=31536000, immutable'
const ENCODINGS = { br: 'br', gzip: 'gz' } as const

/** Answers GET and HEAD of everything that is not the API's; undefined for what is not the console's. */
export type ConsoleHandler = (request: Request) => Response | undefined

type Read = (key: string) => Uint8Array

/** @returns undefined where the console was not built: from source, without `npm run build` */
export function consoleHandler(read: Read = assetBytes): ConsoleHandler | undefined {
  const files = list(read)
  if (!files) return undefined
  return (request) => {
    const { pathname } = new URL(request.url)
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
    if (pathname.startsWith('/api/')) return undefined
    const name = nameOf(files, pathname)
    const file = name === undefined ? undefined : files[name]
    return file && withDefaults(answer(request, { ...file, name: name as string, read }))
  }
}

function list(read: Read): ConsoleFiles | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(read('console/files.json'))) as ConsoleFiles
  } catch (e) {
    // The API works without the console; the executable always has it.
    if ((e as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw e
  }
}

/** Every address of a page is the entry page's, with dots in ids too; files lie at the top and in `assets`, there or not. */
function nameOf(files: ConsoleFiles, pathname: string): string | undefined {
  const name = pathname.slice(1)
  if (Object.hasOwn(files, name)) return name
  return /^[^/]*\.[^/]*$/.test(name) || name.startsWith('assets/') ? undefined : 'index.html'
}

interface Served extends ConsoleFile {
  name: string
  read: Read
}

function answer(request: Request, { immutable, name, read, sha256, type }: Served): Response {
  const encoding = accepted(request.headers.get('accept-encoding') ?? '')
  const etag = `"${sha256.slice(0, 32)}${encoding ? `-${encoding}` : ''}"`
  const headers = {
    // A worker obeys the policy of its own script.
    ...DOCUMENT,
    'cache-control': immutable ? IMMUTABLE : 'no-cache',
    'content-type': type,
    etag,
    vary: 'accept-encoding',
    ...(encoding ? { 'content-encoding': encoding } : {}),
  }
  const known = (request.headers.get('if-none-match') ?? '').split(',').some((tag) => tag.trim() === etag)
  if (known) return new Response(null, { headers, status: 304 })
  const bytes = contentOf(read, name, encoding)
  const length = { 'content-length': String(bytes.byteLength) }
  return new Response(request.method === 'HEAD' ? null : new Uint8Array(bytes), { headers: { ...headers, ...length } })
}

/** Brotli where it is taken, else gzip; an encoding with `q=0` is refused. */
function accepted(header: string): keyof typeof ENCODINGS | undefined {
  const taken = header
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim()))
    .filter(([, weight]) => !/^q=0(\.0*)?$/.test(weight ?? ''))
    .map(([coding]) => coding)
  return (['br', 'gzip'] as const).find((coding) => taken.includes(coding))
}

function contentOf(read: Read, name: string, encoding: keyof typeof ENCODINGS | undefined): Uint8Array {
  const bytes = read(`console/${name}.${ENCODINGS[encoding ?? 'gzip']}`)
  return encoding ? bytes : zlib.gunzipSync(bytes)
}
