// From what was queued to what a person reads. Pure: the same content gives the same message on every attempt.
import type { HealthEvent, Severity } from '../../wire/health.ts'
import type { DeliveryKind } from '../../wire/notifications.ts'
import { present } from '../store/filter.ts'
import type { Phrases } from './phrases.ts'
import type { Report } from './report.store.ts'
import { goesOn } from './rules.rules.ts'
import type { Subject } from './subjects.store.ts'
import type { Message } from './transports/transport.ts'

/** What of the controller messages speak of. */
export interface Sender {
  /** Where people reach the console; links are left out without it. */
  address?: string | undefined
  phrases: Phrases
  /** What people call the installation; absent while nobody named it. */
  site?: string | undefined
  /** Of the times that are told. */
  timezone: string
}

interface Part {
  acknowledgeToken?: string | undefined
  conversation?: string | undefined
  createdAt: string
  id: string
  kind: DeliveryKind
}

const HOOK_TYPES = { escalation: 'health.escalated', event: 'health.opened', resolved: 'health.resolved' } as const

/** A message about one event. */
export function eventMessage(
  sender: Sender,
  part: Part & { kind: keyof typeof HOOK_TYPES },
  subject: Subject,
): Message {
  const { phrases } = sender
  const { event } = subject
  const url = address(sender, `/alerts?open=${encodeURIComponent(event.id)}`)
  return {
    ...head(sender, part),
    ...(url ? { url } : {}),
    at: part.createdAt,
    body: { data: dataOf(subject, url), timestamp: part.createdAt, type: HOOK_TYPES[part.kind] },
    facts: factsOf(sender, subject),
    kind: part.kind,
    // What was to be done needs no doing any more.
    paragraphs: [
      ...(part.kind === 'resolved' ? textsOf(event, 'result') : textsOf(event, 'message', 'remedy')),
      ...(part.kind === 'escalation' ? [phrases.escalationHint] : []),
    ],
    severity: part.kind === 'resolved' && !goesOn(event) ? 'info' : event.severity,
    title: [titleOf(phrases, part, event), placeOf(subject)].filter(Boolean).join(' — '),
  }
}

function titleOf(phrases: Phrases, { createdAt, kind }: Part, event: HealthEvent): string {
  const { openedAt, severity, type } = event
  const sentence = phrases.alert(type)
  if (kind === 'resolved') return goesOn(event) ? phrases.due(sentence) : phrases.over(sentence)
  if (kind === 'escalation') return phrases.escalated(sentence, minutesBetween(openedAt, createdAt))
  return `${phrases.severity[severity]}: ${sentence}`
}

const MINUTE_MS = 60_000
const minutesBetween = (from: string, to: string): number =>
  Math.max(1, Math.round((Date.parse(to) - Date.parse(from)) / MINUTE_MS))

/** Room and site, else the recorder. */
const placeOf = ({ node, room, site }: Subject): string | undefined =>
  room ? [room.name, site].filter(Boolean).join(', ') : node?.name

/** What the source of the event says, in its own words. */
const textsOf = ({ details }: HealthEvent, ...fields: string[]): string[] =>
  fields.map((field) => details[field]).filter((text): text is string => typeof text === 'string')

/** Where, what and since when, in the zone of the site. */
export function factsOf(sender: Sender, { event, node, recording, room, schedule, site }: Subject): [string, string][] {
  const { facts } = sender.phrases
  const ended = event.resolvedAt === null ? undefined : when(sender, event.resolvedAt)
  const rows: [string, string | undefined][] = [
    [facts.room, room?.name],
    [facts.site, site],
    [facts.recorder, node?.name],
    [facts.take, recording?.name],
    [facts.schedule, schedule?.name],
    [facts.begins, isTime(event.details.nextStart) ? when(sender, event.details.nextStart) : undefined],
    [facts.since, when(sender, event.openedAt)],
    [facts.ended, ended],
  ]
  return rows.filter((row): row is [string, string] => row[1] !== undefined)
}

/** Details are whatever a recorder or a person reports. */
const isTime = (value: unknown): value is string => typeof value === 'string' && !Number.isNaN(Date.parse(value))

const when = ({ phrases, timezone }: Sender, at: string): string =>
  new Intl.DateTimeFormat(phrases.locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: timezone }).format(
    Date.parse(at),
  )

const dataOf = ({ event, node, recording, room, schedule, site }: Subject, url: string | undefined) =>
  present({ event, node, recording, room, schedule, site, url })

const address = ({ address }: Sender, path: string): string | undefined => address && address + path

/** Whom messages come from. */
const nameOf = ({ site }: Sender): string => ['Roomtone', site].filter(Boolean).join(' ')

const head = (sender: Sender, { acknowledgeToken, conversation, id }: Part) => {
  const acknowledgeUrl = acknowledgeToken && address(sender, `/a/${acknowledgeToken}`)
  return {
    ...(acknowledgeUrl ? { acknowledgeUrl } : {}),
    conversation: conversation ?? id,
    from: nameOf(sender),
    id,
    language: sender.phrases.language,
    opens: conversation === undefined,
  }
}

/** Lines of a digest; more are counted. */
const MOST_LINES = 38
const WORST: Severity[] = ['critical', 'warning', 'info']

/** The worst first, and of each severity one of every recorder in turn: none can fill the list and hide the others. */
function ranked<T extends Subject>(subjects: readonly T[]): T[] {
  const turns = new Map<string, number>()
  const rank = (subject: T): [number, number] => {
    const { node, event } = subject
    const source = `${event.severity} ${node?.id ?? ''}`
    const turn = turns.get(source) ?? 0
    turns.set(source, turn + 1)
    return [WORST.indexOf(event.severity), turn]
  }
  return subjects
    .map((subject) => ({ at: rank(subject), subject }))
    .sort((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1])
    .map(({ subject }) => subject)
}

/** What came faster than messages are sent: one list by type and place, the worst first. */
export function digestMessage(
  sender: Sender,
  part: Part,
  subjects: readonly (Subject & { kind: DeliveryKind })[],
): Message {
  const { phrases } = sender
  const worst = WORST.find((severity) => subjects.some(({ event }) => event.severity === severity)) ?? 'info'
  const lines = Map.groupBy(ranked(subjects), (subject) =>
    [titleOf(phrases, { ...part, kind: subject.kind }, subject.event), placeOf(subject)].filter(Boolean).join(' — '),
  )
  const shown = [...lines]
    .slice(0, MOST_LINES)
    .map(([line, all]) => (all.length > 1 ? `${line} (${all.length}×)` : line))
  const rest = lines.size - shown.length
  const url = address(sender, '/alerts')
  return {
    ...head(sender, { ...part, acknowledgeToken: undefined }),
    ...(url ? { url } : {}),
    at: part.createdAt,
    body: {
      data: present({
        events: subjects.map((subject) => ({ ...dataOf(subject, undefined), kind: subject.kind })),
        url,
      }),
      timestamp: part.createdAt,
      type: 'health.digest',
    },
    facts: [],
    kind: 'digest',
    paragraphs: [phrases.digestHint, ...shown, ...(rest > 0 ? [`+ ${rest}`] : [])],
    severity: worst,
    title: phrases.digest(subjects.length),
  }
}

/** The day in ten seconds. */
export function reportMessage(sender: Sender, part: Part, report: Report): Message {
  const { phrases } = sender
  const { figures } = report
  const isWhole = figures.due === figures.made && figures.failedTakes === 0
  const isInTime = figures.late === 0
  const isWell =
    isWhole && isInTime && figures.openAlerts === 0 && figures.openUploads === 0 && report.fullDisks.length === 0
  const url = address(sender, '/')
  return {
    ...head(sender, part),
    ...(url ? { url } : {}),
    at: part.createdAt,
    body: { data: present({ report, url }), timestamp: part.createdAt, type: 'report.daily' },
    facts: reportFacts(phrases, report),
    kind: 'report',
    paragraphs: [
      ...(isWell ? [phrases.reportAllWell] : []),
      ...(isWhole ? [] : [phrases.reportLost]),
      ...report.lost.map((take) => takeOf(sender, take)),
      ...(report.late.length > 0 ? [phrases.reportLate] : []),
      ...report.late.map((take) => phrases.late(takeOf(sender, take), take.lateSeconds)),
    ],
    severity: isWhole && isInTime ? 'info' : 'warning',
    title: figures.due === 0 && figures.failedTakes === 0 ? phrases.quiet : phrases.reported(figures),
  }
}

const takeOf = (sender: Sender, { at, name, room }: Report['lost'][number]): string =>
  [name, room, when(sender, at)].filter(Boolean).join(', ')

function reportFacts(phrases: Phrases, { disk, figures, fullDisks }: Report): [string, string][] {
  const { facts } = phrases
  const counted: [string, number][] = [
    [facts.failed, figures.due - figures.made + figures.failedTakes],
    [facts.late, figures.late],
    [facts.alerts, figures.openAlerts],
    [facts.running, figures.running],
    [facts.loudness, figures.loudness],
    [facts.uploads, figures.openUploads],
    [facts.updates, figures.updates],
  ]
  return [
    ...counted.filter(([, count]) => count > 0).map(([label, count]): [string, string] => [label, String(count)]),
    ...(disk ? [[facts.controllerDisk, phrases.free(disk.freeGb, disk.freePercent)] as [string, string]] : []),
    ...(fullDisks.length > 0 ? [[phrases.reportDisks, fullDisks.join(', ')] as [string, string]] : []),
  ]
}

/** Sent when somebody presses "send a test". */
export const testMessage = (sender: Sender, part: Part): Message => ({
  ...head(sender, part),
  at: part.createdAt,
  body: { data: {}, timestamp: part.createdAt, type: 'test' },
  facts: [],
  kind: 'test',
  paragraphs: [sender.phrases.testHint(nameOf(sender))],
  severity: 'info',
  title: sender.phrases.test(nameOf(sender)),
})
