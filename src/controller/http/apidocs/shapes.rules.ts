// JSON schemas as TypeScript, for people to read.

export interface Schema {
  $ref?: string
  additionalProperties?: boolean | Schema
  allOf?: Schema[]
  anyOf?: Schema[]
  const?: unknown
  default?: unknown
  description?: string
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
  if (schema.$ref) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
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
    return {
      note: [one.description ?? '', bounds(one)].filter(Boolean).join('; '),
      text: `${name}${must ? '' : '?'}: ${written(one)}`,
    }
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
