// What the repository tells of the code is made from it: tables in pages of docs/, and openapi.json.
import type * as z from 'zod'
import { helpText } from '../../src/agent/config.ts'
import type { Row } from '../../src/agent/settings.rows.ts'
import { SETTINGS as AGENT } from '../../src/agent/settings.ts'
import { SETTINGS as CONTROLLER } from '../../src/controller/config.ts'
import { openapi } from '../../src/controller/http/openapi.ts'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { mounted } from '../../src/controller/http/serve.ts'
import { version } from '../../src/kernel/version.ts'
import { RUN_SETTINGS, SERVER_SETTINGS } from '../../src/lifecycle/config.ts'
import type { Kit } from '../kit/kit.ts'
import { type Answers, answersOf } from './api.answers.ts'
import { keyOf, shapeOf, shortened, typesOf } from './api.shapes.ts'
import {
  type Deed,
  deedsOf,
  deedsTable,
  type Refusal,
  reasonsOf,
  reasonsTable,
  refusalsOf,
  requestsTable,
} from './catalogues.ts'
import { inProject } from './compiler.ts'
import { table } from './table.ts'

/** What the pages are made from. */
interface Code {
  answers: Answers
  deeds: Deed[]
  refusals: Refusal[]
  routes: readonly AnyRoute[]
}

function tableOf(settings: Record<string, readonly [z.ZodType, string]>): string {
  const rows = Object.entries(settings).map(([name, [schema, words]]) => {
    const fallback = schema.safeParse(undefined).data
    const plain = typeof fallback === 'object' || fallback === undefined || fallback === ''
    return [`\`${name}\``, plain ? '' : `\`${fallback}\``, words]
  })
  return table(['Setting', 'Default', 'Meaning'], rows)
}

/** The flags of a row, as `--help` names them. */
function flags(env: string): string {
  const line = helpText()
    .split('\n')
    .find((text) => text.includes(`[${env}]`) || text.includes(`[${env}(_FILE)`))
  return [...(line ?? '').matchAll(/(?<=^ +|, )--[a-z0-9-]+/g)].map(([flag]) => `\`${flag}\``).join(' ')
}

function agentSettings(): string {
  const rows = (Object.values(AGENT) as Row[]).map((row) => [
    row.kind === 'secret' ? `\`${row.env}\`, \`${row.env}_FILE\`` : `\`${row.env}\``,
    flags(row.env),
    row.help,
  ])
  return table(['Setting', 'Flag', 'Meaning (default)'], rows)
}

const WHO: Record<string, string> = {
  user: 'session',
  node: 'node',
  bootstrap: 'bootstrap token',
  runner: 'runner token',
  scraper: 'metrics token',
  none: 'open',
}

function inOrder(routes: readonly AnyRoute[]): AnyRoute[] {
  const order = (r: AnyRoute): string =>
    r.path
      .split('/')
      .slice(0, r.path.startsWith('/settings') ? 3 : 2)
      .join('/')
  return [...routes].sort((a, b) => order(a).localeCompare(order(b)))
}

function api({ routes }: Code): string {
  const rows = inOrder(routes).map((r) => [
    `\`${r.method} ${mounted(r.path)}\``,
    WHO[r.auth as string] ?? '',
    r.permission ? `\`${r.permission}\`` : '',
    r.audit === 'none' ? '' : `\`${r.action}\``,
  ])
  return table(['Route', 'Who', 'Permission', 'Audit'], rows)
}

function shapes({ answers, routes }: Code): string {
  const folded = inOrder(routes).map((r) => shapeOf(r, answers, WHO[r.auth as string] ?? ''))
  return shortened([...folded, '## Types', 'Named in the answers above.', typesOf(answers)].join('\n\n'))
}

const MADE: Record<string, Record<string, (code: Code) => string>> = {
  'docs/api.md': { api, shapes },
  'docs/audit.md': { requests: ({ routes }) => requestsTable(routes), others: ({ deeds }) => deedsTable(deeds) },
  'docs/lifecycle.md': { 'lifecycle settings': () => tableOf({ ...SERVER_SETTINGS, ...RUN_SETTINGS }) },
  'docs/reasons.md': { reasons: ({ refusals }) => reasonsTable(refusals) },
  'docs/settings.md': { 'agent settings': agentSettings, 'controller settings': () => tableOf(CONTROLLER) },
}
const OPENAPI = 'openapi.json'
/** Pages with parts that are made. */
export const PAGES = Object.keys(MADE)

/** With the answers, which only the compiler knows; the build puts the version in. */
const openapiText = ({ answers, refusals, routes }: Code): string => {
  const of = (r: AnyRoute) => answers.schemas.get(keyOf(r))
  const known = { components: answers.components, of, reasons: reasonsOf(refusals) }
  return `${JSON.stringify(openapi(routes, version, known), null, 2)}\n`
}

/** Read by the compiler, which takes seconds: once is enough for all that asks of it. */
export const codeOf = ({ routes }: Pick<Kit, 'routes'>): Code =>
  inProject((project) => ({
    answers: answersOf(project),
    deeds: deedsOf(project, routes),
    refusals: refusalsOf(project),
    routes,
  }))

/** Every file that is made or has parts that are, by its name, as it should be. */
export function renewed(code: Code, read: (file: string) => string): Map<string, string> {
  const pages = PAGES.map((page) => [page, withParts(page, read(page), code)] as const)
  return new Map([...pages, [OPENAPI, openapiText(code)]])
}

/** @throws Error when a pair of markers is missing */
const withParts = (page: string, before: string, code: Code): string =>
  Object.entries(MADE[page] ?? {}).reduce((text, [name, made]) => {
    const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
    const [start, end] = [text.indexOf(open), text.indexOf(close)]
    if (start < 0 || end < start) throw new Error(`${page} has no part ${open} ... ${close}`)
    return `${text.slice(0, start + open.length)}\n\n${made(code)}\n\n${text.slice(end)}`
  }, before)

/** A place in a text: `name` (file). */
const ANCHOR = /`(\w+)`\s+\(((?:src|test)\/[\w./]+\.ts)\)/g

export interface Anchor {
  file: string
  name: string
}

export const anchors = (text: string): Anchor[] =>
  [...text.matchAll(ANCHOR)].map(([, name = '', file = '']) => ({ file, name }))

/** Whether `source` defines `name` at its top level. */
export const defines = (source: string, name: string): boolean =>
  new RegExp(`^(export )?(async )?(function\\*?|const|class|interface|type) ${name}\\b`, 'm').test(source)
