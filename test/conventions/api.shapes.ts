// Queries, bodies and answers of routes as TypeScript, for people to read.
import { schemaOf } from '../../src/controller/http/openapi.ts'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { mounted } from '../../src/controller/http/serve.ts'
import { PERMISSIONS } from '../../src/wire/permissions.ts'
import type { Answers } from './api.answers.ts'

interface Schema {
  additionalProperties?: boolean | Schema
  allOf?: Schema[]
  anyOf?: Schema[]
  const?: unknown
  default?: unknown
  enum?: unknown[]
  format?: string
  items?: Schema
  maximum?: number
  maxItems?: number
  maxLength?: number
  minimum?: number
  minItems?: number
  minLength?: number
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  type?: string
}

const WIDE = 100
const PLAIN = new Set(['boolean', 'null', 'string'])
const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : value && typeof value === 'object' ? JSON.stringify(value) : String(value)
const inset = (text: string): string => text.replaceAll('\n', '\n  ')

/** The TypeScript of what a JSON schema takes; bounds are comments. */
export function written(schema: Schema): string {
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  if (schema.const !== undefined) return literal(schema.const)
  const either = schema.anyOf ?? schema.oneOf
  if (either) return [...new Set(either.map(written))].join(' | ')
  if (schema.allOf) return schema.allOf.map(written).join(' & ')
  if (schema.type === 'array') return list(schema)
  if (schema.type === 'object') return object(schema)
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  return PLAIN.has(schema.type ?? '') ? (schema.type as string) : 'unknown'
}

function list({ items = {} }: Schema): string {
  const each = written(items)
  return / [|&] /.test(each) ? `(${each})[]` : `${each}[]`
}

function object({ additionalProperties: others, properties, required = [] }: Schema): string {
  const fields = Object.entries(properties ?? {}).map(([name, one]) => {
    const must = required.includes(name) && one.default === undefined
    return { note: bounds(one), text: `${name}${must ? '' : '?'}: ${written(one)}` }
  })
  if (typeof others === 'object') fields.push({ note: '', text: `[key: string]: ${written(others)}` })
  if (fields.length === 0) return others === false ? '{}' : 'object'
  const line = `{ ${fields.map(({ text }) => text).join('; ')} }`
  if (line.length <= WIDE && fields.every(({ note }) => !note)) return line
  const lines = fields.map(({ note, text }) => `  ${inset(text)}${note && ` // ${note}`}`)
  return ['{', ...lines, '}'].join('\n')
}

const span = (least: number | undefined, most: number | undefined, unit: string): string => {
  const from = least !== undefined && Math.abs(least) < Number.MAX_SAFE_INTEGER ? least : undefined
  const to = most !== undefined && most < Number.MAX_SAFE_INTEGER ? most : undefined
  if (from !== undefined && to !== undefined) return `${from} to ${to}${unit}`
  if (to !== undefined) return `at most ${to}${unit}`
  return from ? `at least ${from}${unit}` : ''
}

/** In words: size, format and default of one field. */
function bounds(schema: Schema): string {
  const [real, ...more] = (schema.anyOf ?? [schema]).filter(({ type }) => type !== 'null')
  const one = more.length > 0 ? schema : (real ?? schema)
  const words = [
    one.type === 'integer' ? 'whole' : '',
    span(one.minimum, one.maximum, ''),
    one.enum || one.const !== undefined ? '' : span(one.minLength || undefined, one.maxLength, ' characters'),
    span(one.minItems, one.maxItems, ' items'),
    one.format ?? '',
    schema.default === undefined ? '' : `default ${literal(schema.default)}`,
  ]
  return words.filter(Boolean).join(', ')
}

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
