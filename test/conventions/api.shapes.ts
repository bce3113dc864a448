// Queries, bodies and answers of routes as TypeScript, for people to read.
import { type Schema, written } from '../../src/controller/http/apidocs/shapes.rules.ts'
import { schemaOf } from '../../src/controller/http/openapi.ts'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { mounted } from '../../src/controller/http/serve.ts'
import { PERMISSIONS } from '../../src/wire/permissions.ts'
import type { Answers } from './api.answers.ts'

const WIDE = 100
const literal = (value: string): string => `'${value}'`
const inset = (text: string): string => text.replaceAll('\n', '\n  ')

/** Key of a record in `Answers`. */
export const keyOf = (r: AnyRoute): string => `${r.method} ${r.path} ${r.auth}`

/** What a route answers, or `undefined` where the compiler cannot tell. */
export function answerOf(r: AnyRoute, { routes }: Answers): string | undefined {
  if (r.status === 204) return 'no body'
  if (r.status === 302) return 'a redirection'
  const members = routes.get(keyOf(r))
  if (r.kind === 'stream' && !members?.length) return 'the content itself'
  if (!members) return undefined
  const line = `{ ${members.join('; ')} }`
  return line.length <= WIDE && !line.includes('\n') ? line : `{\n${members.map((m) => `  ${inset(m)}`).join('\n')}\n}`
}

/** One route, folded: its title alone shows until it is opened. `who`: for whom. */
export function shapeOf(r: AnyRoute, answers: Answers, principal: string): string {
  const part = (name: string, text: string | undefined): string[] => (text ? [`// ${name}\n${text}`] : [])
  const parts = [
    ...part('query', r.query && written(schemaOf(r.query) as Schema)),
    ...part('body', r.body ? written(schemaOf(r.body) as Schema) : r.upload && 'a file'),
    ...part(`answer ${r.status ?? 200}`, answerOf(r, answers)),
  ]
  const title = `<code>${r.method} ${mounted(r.path)}</code> (${principal})`
  return `<details><summary>${title}</summary>\n\n\`\`\`ts\n${parts.join('\n\n')}\n\`\`\`\n\n</details>`
}

const orders = [PERMISSIONS, [...PERMISSIONS].sort()].map((names) => names.map(literal).join(' | '))

/** The list of all permissions stands in full only once, in `typesOf`. */
export const shortened = (text: string): string =>
  orders.reduce((all, names) => all.replaceAll(`(${names})[]`, 'Permission[]').replaceAll(names, 'Permission'), text)

/** Every named type of the answers, in the order of their names. */
export const typesOf = ({ types }: Answers): string => {
  const all = new Map([...types, ['Permission', `type Permission =\n  | ${PERMISSIONS.map(literal).join('\n  | ')}`]])
  const sorted = [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  return `\`\`\`ts\n${sorted.join('\n\n')}\n\`\`\``
}
