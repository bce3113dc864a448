import { notFound } from '../../../kernel/fail.ts'
import type { Node } from '../../../wire/nodes.ts'
import type { Command } from '../../../wire/recordings.ts'
import type { Preflight, SoundPrint, SoundReading } from '../../../wire/soundreadings.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { SchedulesApi } from '../../schedules/api.ts'
import type { HealthApi } from '../health/api.ts'
import { changeOf } from '../health/lifecycle.rules.ts'
import type { Accepted } from './api.ts'
import { keepsApart, messagesOf, severityOf, verdictsOf, type Wanted, wantedOf } from './preflight.rules.ts'
import type { PreflightStore } from './preflights.store.ts'
import type { PrintStore } from './prints.store.ts'

const TYPE = 'foresight.preflight'
const ACTOR = systemActor('foresight')

type Told<K extends SoundReading['kind']> = Extract<SoundReading, { kind: K }>

interface Parts {
  audit: Audit
  /** What a take of a schedule would capture now; undefined when it could not be made. */
  commandOf: (schedule: Stored, node: Node) => Command | undefined
  health: HealthApi['health']
  nodes: { get: (id: string, now: string) => Node }
  preflights: PreflightStore
  prints: PrintStore
  schedules: Pick<SchedulesApi['schedules'], 'find'>
}
type Stored = NonNullable<ReturnType<SchedulesApi['schedules']['find']>>

/** Judges what recorders hear, and opens, renews and ends the events that tell of it. Call in a transaction. */
export function soundReadings(parts: Parts) {
  const { nodes, preflights, prints, schedules } = parts
  const events = preflightEvents(parts)

  const wanted = (command: Command, node: Node): Wanted[] => {
    const channels = wantedOf(command)
    const known = command.captureInterfaceId
      ? prints.known(command.captureInterfaceId, channels)
      : new Map<number, SoundPrint[]>()
    const device = node.interfaces.find(({ id }) => id === command.captureInterfaceId)
    return channels.map((channelIndex) => ({
      channelIndex,
      label: device?.channels.find(({ index }) => index === channelIndex)?.alias ?? `Channel ${channelIndex}`,
      usual: known.get(channelIndex) ?? [],
    }))
  }
  const judged = (heard: { prints: SoundPrint[]; seconds: number }, command: Command, node: Node) =>
    verdictsOf(heard, wanted(command, node), keepsApart(command))

  const before = (nodeId: string, reading: Told<'preflight' | 'unopened'>, now: string): Accepted => {
    const { heardAt, scheduleId, startsAt } = reading
    const schedule = schedules.find(scheduleId)
    if (!schedule) throw notFound('Schedule')
    const isPlanned = schedule.enabled && schedule.nextRunAt === startsAt && startsAt > now
    if (!isPlanned) return { changed: false, ignored: 'stale' }
    const node = nodes.get(nodeId, now)
    const command = parts.commandOf(schedule, node)
    if (!command) return { changed: false, ignored: 'stale' }
    const channels = reading.kind === 'preflight' ? judged(reading, command, node) : []
    const fault = reading.kind === 'unopened' ? { fault: reading.fault } : {}
    const preflight = { channels, heardAt, nodeId, scheduleId, startsAt, ...fault }
    if (!preflights.record(preflight)) return { changed: false, ignored: 'known' }
    return { changed: true, healthEventId: events.settle(preflight, schedule.name, now) }
  }

  /** The first minute of a take may take back what was told before it. */
  const begun = (nodeId: string, reading: Told<'begun'>, now: string): Accepted => {
    const take = prints.take(reading.recordingId)
    if (!take) throw notFound('Recording')
    const { scheduleId } = take
    if (scheduleId === null || preflights.eventOf(scheduleId) === undefined) return { changed: false, ignored: 'known' }
    const verdicts = judged(reading, JSON.parse(take.command) as Command, nodes.get(nodeId, now))
    if (verdicts.some(({ verdict }) => verdict !== 'ok')) return { changed: false }
    return { changed: true, healthEventId: events.end(scheduleId, 'take_sounds_right', now) }
  }

  const learned = (nodeId: string, reading: Told<'take'>, now: string): Accepted => {
    const take = prints.take(reading.recordingId)
    if (!take) throw notFound('Recording')
    const command = JSON.parse(take.command) as Command
    const { captureInterfaceId: interfaceId } = command
    if (!take.good || interfaceId === undefined) return { changed: false, ignored: 'no_good_take' }
    const channels = wanted(command, nodes.get(nodeId, now))
    const verdicts = verdictsOf(reading, channels, keepsApart(command))
    // By the controller's clock, like the takes: a recorder's may be years off.
    const heard = { heardAt: now, interfaceId, recordingId: reading.recordingId, roomId: take.roomId }
    const kept = channels.map(({ channelIndex, usual }, i) => {
      const print = reading.prints.find((one) => one.channelIndex === channelIndex)
      return print !== undefined && prints.keep(heard, print, usual, verdicts[i]?.verdict ?? 'dead')
    })
    return kept.includes(true) ? { changed: true } : { changed: false, ignored: 'known' }
  }

  return {
    accept(nodeId: string, reading: SoundReading, now: string): Accepted {
      if (reading.kind === 'begun') return begun(nodeId, reading, now)
      return reading.kind === 'take' ? learned(nodeId, reading, now) : before(nodeId, reading, now)
    },
    end: events.end,
  }
}

/** One event per schedule at a time. */
function preflightEvents({ audit, health, preflights }: Parts) {
  const standing = (scheduleId: string) => {
    const event = health.find(preflights.eventOf(scheduleId) ?? '')
    return event?.status === 'resolved' ? undefined : event
  }
  const open = (preflight: Omit<Preflight, 'messages'>, details: Record<string, unknown>, now: string): string => {
    const { nodeId, scheduleId } = preflight
    const severity = severityOf(preflight)
    const known = standing(scheduleId)
    if (known) health.refresh(known, { details: { ...known.details, ...details }, severity }, true, now)
    const id =
      known?.id ?? health.open({ details, nodeId, openedAt: now, scheduleId, severity, type: TYPE }, now).event.id
    preflights.tell(scheduleId, id)
    return id
  }
  /** Ends what is told of a schedule; returns its id if it was open. */
  const end = (scheduleId: string, reason: string, now: string): string | undefined => {
    const id = preflights.eventOf(scheduleId)
    if (id === undefined) return undefined
    const [ended] = health.autoResolve([id], { by: ACTOR.id, reason }, now)
    preflights.tell(scheduleId, undefined)
    if (!ended) return undefined
    const change = changeOf(ended.after, ended.before)
    audit.write({ action: 'health.foresight.preflight.resolved', actor: ACTOR, ...change }, now)
    return id
  }
  return {
    end,
    /** Opens, renews or ends the event after a preflight; returns its id. */
    settle(preflight: Omit<Preflight, 'messages'>, scheduleName: string, now: string): string | undefined {
      const messages = messagesOf(preflight)
      if (messages.length === 0) return end(preflight.scheduleId, 'heard_well', now)
      const { channels, fault, heardAt, startsAt } = preflight
      const told = { channels, heardAt, message: messages.join(' '), scheduleName, startsAt }
      return open(preflight, { ...told, ...(fault === undefined ? {} : { fault }) }, now)
    },
  }
}
