// The catalogues of docs/: every reason of a refusal, and every action of the audit log, as the sources name them.
import * as path from 'node:path'
import { type Node, type ObjectLiteralExpression, SyntaxKind } from 'typescript/unstable/ast'
import type { Checker, Project } from 'typescript/unstable/sync'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { mounted } from '../../src/controller/http/serve.ts'
import { callsOf, memberOf, nodesIn, sourcesOf, textsOf } from './compiler.ts'
import { table } from './table.ts'

export interface Refusal {
  messages: string[]
  /** The folder whose code refuses so. */
  part: string
  reason: string
  status: string
}
type Read = (args: readonly string[][]) => [status: string, reasons: string[], messages: string[]]

const oneOf = (texts: string[]): string => [...new Set(texts)].sort().join(' or ')
const missing = (whats: string[]): ReturnType<Read> => [
  '404',
  whats.map((what) => `${what.toLowerCase().replaceAll(' ', '_')}_not_found`),
  whats.map((what) => `${what} not found`),
]
/** Status, reasons and messages from the arguments of each maker of a `Fail` (src/kernel/fail.ts). */
const MAKERS: Record<string, Read> = {
  Fail: ([statuses = [], reasons = [], messages = []]) => [oneOf(statuses), reasons, messages],
  conflict: ([reasons = [], messages = []]) => ['409', reasons, messages],
  found: ([, whats = []]) => missing(whats),
  invalid: ([messages = [], , , reasons = ['invalid_request']]) => ['400', reasons, messages],
  notFound: ([whats = []]) => missing(whats),
}
// They pass on what they are given.
const PASSES_ON = 'src/kernel/fail.ts'

// Rules say what is wrong, their callers refuse: the member with the words tells the status.
const JUDGEMENTS = { way: '400', words: '409' }

const partOf = (file: string): string =>
  path.dirname(file).replace(/^src\/(controller$|controller\/)?/, '') || 'controller'
const isReason = (text: string): boolean => /^[a-z][a-z0-9]*(_([a-z0-9]+|<\w+>))*$/.test(text)

/** Every refusal a caller can be answered with. A reason that is passed on is told where it is made. */
export function refusalsOf(project: Project): Refusal[] {
  const { checker } = project
  const files = sourcesOf(project, 'src').filter(({ file }) => file !== PASSES_ON)
  return files.flatMap(({ file, source }) =>
    [...thrownIn(checker, source), ...judgedIn(checker, source)]
      .flatMap(([status, reasons, messages]) =>
        reasons.map((reason, i) => ({
          messages: reasons.length === messages.length ? messages.slice(i, i + 1) : told(reasons, messages),
          part: partOf(file),
          reason: reason.replaceAll(/<(?:\w+\.)*(\w+)>/g, '<$1>'),
          status,
        })),
      )
      .filter(({ reason, status }) => isReason(reason) && !status.startsWith('<')),
  )
}

/** What belongs to each of the reasons, where their order does not say. */
const told = (reasons: string[], messages: string[]): string[] =>
  reasons.length === 1 || messages.length === 1 ? messages : []

function* thrownIn(checker: Checker, source: Node): Generator<ReturnType<Read>> {
  for (const call of callsOf(source, new Set(Object.keys(MAKERS)))) {
    const read = MAKERS[(call.expression as unknown as { text: string }).text] as Read
    yield read(call.arguments.map((arg) => textsOf(checker, arg)))
  }
}

function* judgedIn(checker: Checker, source: Node): Generator<ReturnType<Read>> {
  for (const object of objectsIn(source))
    for (const [words, status] of Object.entries(JUDGEMENTS)) {
      const [reason, message] = [memberOf(object, 'reason'), memberOf(object, words)]
      if (reason && message) yield [status, textsOf(checker, reason), textsOf(checker, message)]
    }
}

const objectsIn = (source: Node): ObjectLiteralExpression[] =>
  [...nodesIn(source)].filter((n) => n.kind === SyntaxKind.ObjectLiteralExpression) as ObjectLiteralExpression[]

/** docs/reasons.md: one row for each reason and status. */
export function reasonsTable(refusals: readonly Refusal[]): string {
  const rows = reasonsOf(refusals).map(({ messages, parts, reason, status }) => [
    `\`${reason}\``,
    status,
    messages.join(' · '),
    parts.join(', '),
  ])
  return table(['Reason', 'Status', 'Message', 'Part'], rows)
}

/** Each reason with each of its statuses once, in order. */
export const reasonsOf = (refusals: readonly Refusal[]) =>
  [...Map.groupBy(refusals, ({ reason, status }) => `\`${reason}\` ${status}`)].sort(byFirst).map(([, same]) => {
    const { reason = '', status = '' } = same[0] ?? {}
    const messages = same.flatMap((r) => r.messages).filter((text) => !/^<[^<]*>$/.test(text))
    const parts = same.map(({ part }) => part).sort()
    return { messages: [...new Set(messages)], parts: [...new Set(parts)], reason, status }
  })

export interface Deed {
  action: string
  part: string
}

/** Names of audit rows that no record of a route has: of runners, commands, and of what a deed brings about. */
export function deedsOf(project: Project, routes: readonly AnyRoute[]): Deed[] {
  const ofRoutes = new Set(routes.map((r) => r.action))
  return sourcesOf(project, 'src/controller').flatMap(({ file, source }) =>
    objectsIn(source)
      .flatMap((object) => memberOf(object, 'action') ?? [])
      .flatMap((action) => textsOf(project.checker, action))
      .filter((action) => /^[a-z_]+(\.([a-z_-]+|<\w+>))+$/.test(action) && !ofRoutes.has(action))
      .map((action) => ({ action, part: partOf(file) })),
  )
}

const ROWS: Record<string, string> = {
  both: 'decision and outcome',
  change: 'decision, outcome of a change',
  decision: 'decision',
  outcome: 'outcome',
  telemetry: 'outcome, once a window when nothing changed',
}

/** docs/audit.md: what requests leave. */
export function requestsTable(routes: readonly AnyRoute[]): string {
  const rows = routes
    .filter((r) => r.audit !== 'none')
    .map((r) => {
      const machine = r.auth !== 'user' && r.auth !== 'none'
      const names = ([] as string[]).concat((r.success as string | string[] | undefined) ?? [])
      const kind = machine && !r.audit ? 'telemetry' : (r.audit ?? 'both')
      return [
        `\`${r.action}\``,
        `\`${r.method} ${mounted(r.path)}\``,
        r.permission ? `\`${r.permission}\`` : '',
        targetOf(r),
        `${ROWS[kind]}${names.length > 0 ? `: ${names.map((name) => `\`${name}\``).join(', ')}` : ''}`,
      ]
    })
  return table(['Action', 'Route', 'Permission', 'Target', 'Rows'], rows.sort(byFirst))
}

function targetOf(r: AnyRoute): string {
  const params = new Proxy({}, { get: () => 'x' })
  return `\`${r.target(params, {}).type}\``
}

/** docs/audit.md: what the controller writes of its own accord. */
export const deedsTable = (deeds: readonly Deed[]): string =>
  table(
    ['Action', 'Part'],
    [...Map.groupBy(deeds, ({ action }) => action)]
      .map(([action, same]) => [`\`${action}\``, [...new Set(same.map(({ part }) => part))].sort().join(', ')])
      .sort(byFirst),
  )

const byFirst = ([a = '']: readonly unknown[], [b = '']: readonly unknown[]): number => (String(a) < String(b) ? -1 : 1)
