// Rooms on the command line, or in a table (CSV).
import { misuse } from '../../kernel/fail.ts'
import { WantedNode } from '../../wire/provision.ts'

const COLUMNS = ['alias', 'site', 'room', 'hostname', 'mac', 'serial', 'node'] as const
type Column = (typeof COLUMNS)[number]
type Fields = Partial<Record<Column, string>>

/** `Alias;site;room`, and `;name=value` for hostname, mac or serial of its box. @throws UserError */
export function roomOf(text: string): WantedNode {
  const [alias, site, room, ...more] = text.split(';').map((part) => part.trim())
  const fields: Fields = { ...present({ alias, site, room }) }
  for (const part of more) {
    const [, name = '', value = ''] = /^(hostname|mac|serial)=(.+)$/.exec(part) ?? []
    if (!name) throw misuse(`--room "${text}": "${part}" is not hostname=..., mac=... or serial=...`)
    fields[name as Column] = value
  }
  return wanted(fields, `--room "${text}"`)
}

/**
 * A table with a first line that names its columns (alias, site, room; hostname, mac, serial, node), separated by commas,
 * semicolons or tabs. @throws UserError
 */
export function roomsOf(table: string): WantedNode[] {
  const [head = '', ...lines] = table.replace(/^\uFEFF/, '').split(/\r?\n/)
  const separator = [';', '\t'].find((mark) => head.includes(mark)) ?? ','
  const columns = cells(head, separator, 1).map((name) => name.toLowerCase())
  const strange = columns.find((name) => !COLUMNS.includes(name as Column))
  if (strange !== undefined)
    throw misuse(`The first line must name the columns, and "${strange}" is not one of ${COLUMNS.join(', ')}.`)
  return lines.flatMap((line, i) => {
    if (line.trim() === '') return []
    const values = cells(line, separator, i + 2)
    if (values.length > columns.length) throw misuse(`Line ${i + 2} has more cells than the first line.`)
    return [wanted(present(Object.fromEntries(columns.map((name, n) => [name, values[n]]))), `Line ${i + 2}`)]
  })
}

/** Cells of one line; one in double quotes may hold the separator, and quotes written twice. @throws UserError */
function cells(line: string, separator: string, number: number): string[] {
  const mark = separator === '\t' ? '\\t' : separator
  const found = [
    ...line.matchAll(
      new RegExp(`(?:^|${mark})(?:\\s*"((?:[^"]|"")*)"\\s*(?=${mark}|$)|([^${mark}"]*)(?=${mark}|$))`, 'g'),
    ),
  ]
  const read = found.map(([text]) => text).join('')
  if (read !== line) throw misuse(`Line ${number} has a quote that does not end, or text next to one.`)
  return found.map(([, quoted, plain = '']) => (quoted?.replaceAll('""', '"') ?? plain).trim())
}

const present = (fields: Record<string, string | undefined>): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value))

function wanted({ alias, hostname, mac, node, room, serial, site }: Fields, where: string): WantedNode {
  const match = present({ hostname, mac, serial })
  const matching = Object.keys(match).length > 0 ? { match } : {}
  const asked = node
    ? { nodeId: node, ...matching }
    : { alias, room, site, ...(hostname ? { hostname } : {}), ...matching }
  const parsed = WantedNode.safeParse(asked)
  if (parsed.success) return parsed.data
  const missing = node ? [] : Object.entries({ alias, site, room }).flatMap(([name, value]) => (value ? [] : [name]))
  if (missing.length > 0)
    throw misuse(
      `${where}: ${missing.join(', ')} is missing. Specify alias, site and room, for example "Hall recorder;North;Hall".`,
    )
  const [{ message, path } = { message: 'malformed', path: [] }] = parsed.error.issues
  throw misuse(`${where}: ${String(path.at(-1) ?? 'a value')}: ${message}.`)
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600 }
const DAY = 86_400

/** `15m`, `24h`, `900s` or plain seconds, a day at most. @throws UserError */
export function ttlOf(text: string): number {
  const [, n, unit = 's'] = /^(\d{1,6})([smh]?)$/.exec(text) ?? []
  const seconds = Number(n) * (UNITS[unit || 's'] as number)
  if (!(seconds >= 1 && seconds <= DAY)) throw misuse(`--ttl ${text}: expected 1s to 24h, for example 4h or 15m.`)
  return seconds
}
