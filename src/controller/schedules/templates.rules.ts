import type { Zone } from '../../kernel/zones.ts'
import type { Node } from '../../wire/nodes.ts'

/** What the templates of a schedule can refer to. */
interface Subject {
  node: Pick<Node, 'alias' | 'hostname' | 'id' | 'location'>
  room: string
  schedule: { id: string; name: string }
  /** Scheduled start, Unix ms. */
  startAt: number
  zone: Zone
}

const LONGEST = 240

/** Title and folder of a recording (docs/contract/scheduling.md: Templates): safe as file names on any system. */
export function labelsOf(templates: { folderTemplate: string; titleTemplate: string }, subject: Subject) {
  const values = valuesOf(subject)
  const folder = filled(templates.folderTemplate, values)
    .split(/[/\\]/)
    .map(clean)
    // A segment of dots would refer to a parent folder.
    .filter((part) => !/^\.*$/.test(part))
    .join('/')
  const title = clean(filled(templates.titleTemplate, values).replace(/[/\\]/g, '-'))
  return { folder: cut(folder) || 'Scheduled', name: cut(title) || 'Scheduled Recording' }
}

// Never ends in half a surrogate pair, a slash or a space.
const cut = (text: string): string => text.slice(0, LONGEST).replace(/[\ud800-\udbff/\s]+$/, '')

function valuesOf({ node, room, schedule, startAt, zone }: Subject): Record<string, string> {
  const local = new Date(startAt + zone.offset(startAt)).toISOString()
  return {
    date: local.slice(0, 10),
    time: local.slice(11, 16).replace(':', ''),
    timestamp: new Date(startAt).toISOString(),
    'node.alias': node.alias,
    'node.hostname': node.hostname,
    'node.id': node.id,
    room,
    site: node.location.site,
    'schedule.id': schedule.id,
    'schedule.name': schedule.name,
  }
}

// Slashes in a value must not create folders.
const filled = (template: string, values: Record<string, string>): string =>
  template.replace(/\{\{\s*([\w.]*)\s*\}\}/g, (_, name: string) =>
    (Object.hasOwn(values, name) ? (values[name] as string) : '').replace(/[/\\]/g, '-'),
  )

const clean = (text: string): string =>
  text
    .replace(/[<>:"|?*]/g, '-')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: dropping them is the point
    .replace(/[\s\u0000-\u001f\u007f]+/g, ' ')
    .trim()
