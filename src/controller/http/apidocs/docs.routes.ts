// The API as a page for people: made from the document at the first request, and kept.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { document } from '../openapi.ts'
import { type AnyRoute, stream } from '../route.ts'
import { type SmallPage, smallPage } from '../smallpage.ts'
import { apiPage, type Described } from './page.rules.ts'

const controller = () => ({ type: 'controller' })
const gzip = promisify(zlib.gzip)

/** `GET /docs`: for whom `GET /openapi.json` is; and how it looks, which is no secret. */
export function docsRoutes(): AnyRoute[] {
  let packed: Promise<Buffer> | undefined
  return [
    stream({
      method: 'GET',
      path: '/docs',
      auth: 'user',
      permission: null,
      action: 'docs.read',
      target: controller,
      audit: 'outcome',
      refusalPage: ({ status }, accept) =>
        status === 401 && accept.includes('text/html') ? smallPage(401, SIGNED_OUT) : undefined,
      run: async ({ request }) => {
        packed ??= rendered()
        return { response: page(await packed, /\bgzip\b/.test(request.header('accept-encoding') ?? '')) }
      },
    }),
    stream({
      method: 'GET',
      path: '/docs.css',
      auth: 'none',
      permission: null,
      action: 'docs.style',
      target: controller,
      audit: 'none',
      run: async () => ({ response: new Response(STYLE, { headers: { 'content-type': 'text/css; charset=utf-8' } }) }),
    }),
  ]
}

/** A browser that asks without a session is shown where to get one. */
const SIGNED_OUT: SmallPage = {
  language: 'en',
  link: { href: '/', text: 'Sign in' },
  paragraph: 'The description of the API is for people who are signed in. Sign in, then open this page again.',
  title: 'You are signed out',
}

/** Compressed: a megabyte that few people ask for. Other work runs between its parts. */
async function rendered(): Promise<Buffer> {
  const described = JSON.parse(Buffer.from(document()).toString()) as Described
  await nextTurn()
  const parts: string[] = []
  for (const part of apiPage(described)) {
    parts.push(part)
    await nextTurn()
  }
  return gzip(parts.join(''))
}

function page(packed: Buffer, asIs: boolean): Response {
  const headers = { 'content-type': 'text/html; charset=utf-8', vary: 'accept-encoding' }
  if (asIs) return new Response(new Uint8Array(packed), { headers: { ...headers, 'content-encoding': 'gzip' } })
  return new Response(new Uint8Array(zlib.gunzipSync(packed)), { headers })
}

const STYLE = `:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #f3f4f6; --line: #c9ced6; --link: #0b57d0; --quiet: #4a5260 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #14171a; --soft: #1e2227; --line: #3b424c; --link: #8ab4ff; --quiet: #aab2bf } }
* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body { background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 80rem; overflow-wrap: anywhere; padding: 1rem }
a { color: var(--link) }
h1 { font-size: 1.5rem; line-height: 1.2 }
h2 { border-bottom: 1px solid var(--line); font-size: 1.25rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 1rem 0 .25rem }
h4 { color: var(--quiet); font-size: .875rem; margin: .75rem 0 .25rem }
code, pre { font: .875rem/1.5 ui-monospace, monospace }
pre { background: var(--soft); border-radius: .25rem; margin: 0; overflow-x: auto; padding: .5rem .75rem; white-space: pre-wrap }
nav ul { columns: 14rem; list-style: none; margin: 0; padding: 0 }
nav li { color: var(--quiet); padding: .125rem 0 }
details { border: 1px solid var(--line); border-radius: .25rem; margin: .25rem 0; padding: 0 .75rem }
details[open] { padding-bottom: .75rem }
summary { cursor: pointer; padding: .5rem 0 }
summary h3 { display: inline; font-weight: 400 }
.method { display: inline-block; font-weight: 700; min-width: 4.5rem }
.refusals { color: var(--quiet); font-size: .875rem }
dt { font-weight: 700 }
dd { margin: 0 0 .5rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .875rem }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .5rem; text-align: start; vertical-align: top }
td { min-width: 6rem }
@media (min-width: 64rem) {
  body { display: grid; column-gap: 2rem; grid-template-columns: 15rem minmax(0, 1fr) }
  header { grid-column: 1 / -1 }
  nav { align-self: start; max-height: 100vh; overflow-y: auto; position: sticky; top: 0 }
  nav ul { columns: auto }
}
@media print { nav { display: none } }
`
