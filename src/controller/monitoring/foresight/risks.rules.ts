// What stands against a take that is due, from what is known of it; the words are for people. What a start would refuse is told by
// the start itself (`refused`), what the calendar shows by its own rules (`faults`): nothing here judges for a second time.
import type { ForesightKind, ForesightRule } from '../../../wire/foresight.ts'
import type { Severity } from '../../../wire/health.ts'
import type { Risk } from '../../../wire/schedules.ts'

/** What would leave nothing recorded is critical from here on, ms before the start. */
export const NEAR_MS = 15 * 60_000

/** A take that is due; Unix ms. */
export interface Coming {
  endAt: number
  nodeId: string | undefined
  /** The scheduled start, ISO: it identifies the occurrence. */
  occurrenceAt: string
  /** Its local date. */
  occurrenceDate: string
  scheduleId: string
  scheduleName: string
  startAt: number
}

export interface Facts {
  /** What people call the recorder. */
  alias: string | undefined
  /** A start would find its channels, or its recorder, in use until then; Unix ms, undefined for nobody knows when. */
  clash: { until: number | undefined } | undefined
  /** What people call the device it would record from. */
  device: string | undefined
  disk: { aloneFits: boolean; neededBytes: number; roomBytes: number } | undefined
  /** Its recorder is needed soon and has been silent for longer than it should, but is not offline yet. */
  doubted: boolean
  /** As the calendar tells them. */
  faults: readonly Risk[]
  /** A device that is there in place of an absent one. */
  instead: string | undefined
  /** ISO; undefined when it never reported. */
  lastSeenAt: string | undefined
  refused: { message: string; reason: string } | undefined
  /** The device was another one when the schedule last recorded. */
  replaced: { before: string; now: string } | undefined
  skewSeconds: number | undefined
  troubles: readonly { destinationName: string; reason: string }[]
  /** What its recorder says of a device that it lists and cannot open. */
  unavailable: string | undefined
  unsynced: boolean
}

export interface Foreseen {
  details: Record<string, unknown>
  /** As things are, nothing (or not the beginning) would be recorded. */
  fatal: boolean
  /** It need not be watched for a while: silence lasts. */
  hasLasted?: boolean
  kind: ForesightKind
}

const GIB = 2 ** 30
const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`

const risk = (kind: ForesightKind, fatal: boolean, message: string, remedy: string, more: object = {}): Foreseen => ({
  details: { message, remedy, ...more },
  fatal,
  kind,
})

/** What only a recorder that reports can be asked of. */
export const OF_RECORDER: ReadonlySet<ForesightKind> = new Set<ForesightKind>([
  ...(['channels_missing', 'clock_off', 'device_changed', 'device_gone'] as const),
  ...(['disk_short', 'impossible', 'unsynced'] as const),
])

/** What is judged here; events of other kinds are followed by those who open them. */
export const JUDGED: ReadonlySet<string> = new Set<ForesightKind>([
  ...OF_RECORDER,
  ...(['certificate_ends', 'clash', 'controller_disk_short', 'destination_failing', 'recorder_offline'] as const),
])

/** What stands against it. Of a recorder only the first fault is told: the others follow from it. */
export function foreseen(facts: Facts): Foreseen[] {
  const fault = offline(facts) ?? ofDevice(facts)
  const beside = fault?.kind === 'recorder_offline' ? [] : ofMachine(facts)
  return [...(fault ? [fault] : []), ...beside, ...clash(facts), ...destination(facts)]
}

/** A recorder is needed soon, ms before the start. */
export const SOON_MS = 10 * 60_000
/** And is doubted after so many heartbeats that did not come, and this silence at the least, ms. */
const MISSED_BEATS = 4
export const LEAST_SILENT_MS = 15_000

/** Whether a recorder that is needed soon has gone silent. `heartbeatSeconds`: as it told; one that does not tell is not doubted. */
export function isDoubted(
  { heartbeatSeconds, lastSeenAt }: { heartbeatSeconds: number | undefined; lastSeenAt: string },
  startAt: number,
  now: number,
): boolean {
  if (heartbeatSeconds === undefined || startAt - now > SOON_MS) return false
  return now - Date.parse(lastSeenAt) > Math.max(LEAST_SILENT_MS, MISSED_BEATS * heartbeatSeconds * 1000)
}

const UNSERVED = ['node_retired', 'schedule_node_not_found']

function offline({ alias, doubted, faults, lastSeenAt, refused }: Facts): Foreseen | undefined {
  if (faults.includes('recorder_missing') || UNSERVED.includes(refused?.reason ?? ''))
    return risk('recorder_offline', true, 'The schedule has no recorder', 'Choose a recorder in the schedule')
  if (!faults.includes('recorder_offline') && !doubted) return undefined
  if (lastSeenAt === undefined)
    return risk(
      'recorder_offline',
      true,
      `The recorder ${alias} has never reported`,
      'Set it up: it waits for its first start',
    )
  const remedy = 'Check its power and its network; it records as soon as it reports again'
  return {
    ...risk('recorder_offline', true, `The recorder ${alias} does not report`, remedy, { lastSeenAt }),
    hasLasted: true,
  }
}

const GONE = ['no_capture_device', 'recording_interface_not_found', 'schedule_interface_not_found']

function ofDevice(facts: Facts): Foreseen | undefined {
  const { alias, device = 'of the schedule', faults, instead, refused, unavailable } = facts
  const reason = refused?.reason ?? ''
  if (faults.includes('device_missing') && instead !== undefined)
    return changed(true, `${alias} has the device ${instead} where ${device} was`)
  if (faults.includes('device_missing') || GONE.includes(reason))
    return risk(
      'device_gone',
      true,
      `The device ${device} is not connected to ${alias}`,
      'Connect it, or choose another one in the schedule',
    )
  if (unavailable !== undefined)
    return risk(
      'device_gone',
      true,
      `${alias} cannot open the device ${device}: ${unavailable}`,
      'Connect it anew; another program may hold it',
    )
  if (faults.includes('channels_missing') || reason === 'channel_selection_unknown_channel')
    return risk(
      'channels_missing',
      true,
      `The device ${device} of ${alias} has fewer channels than the schedule takes`,
      'Choose its channels in the schedule, or connect the device it was made for',
    )
  if (reason === 'schedule_room_changed') return changed(true, refused?.message ?? '')
  if (refused)
    return risk('impossible', true, refused.message, 'Change the schedule, its profile or its recorder', { reason })
  const { replaced } = facts
  return (
    replaced &&
    changed(
      false,
      `${alias} has another device than when this was last recorded: ${replaced.now}, not ${replaced.before}`,
    )
  )
}

const changed = (fatal: boolean, message: string): Foreseen =>
  risk(
    'device_changed',
    fatal,
    message,
    'Listen to it, then connect the right device or choose this one in the schedule',
  )

function ofMachine({ alias, disk, skewSeconds, unsynced }: Facts): Foreseen[] {
  const found: Foreseen[] = []
  if (disk && disk.neededBytes > disk.roomBytes) {
    const { aloneFits, neededBytes, roomBytes } = disk
    const with_ = aloneFits ? ' together with those before it' : ''
    const message = `The disk of ${alias} has room for ${gib(roomBytes)}; the take${with_} needs ${gib(neededBytes)}`
    found.push(risk('disk_short', !aloneFits, message, 'Free some of its disk, or let it deliver what it holds'))
  }
  if (skewSeconds !== undefined)
    found.push(
      risk(
        'clock_off',
        false,
        `The clock of ${alias} is wrong by ${Math.round(Math.abs(skewSeconds))} s`,
        'Set up its time server',
        {
          skewSeconds,
        },
      ),
    )
  if (unsynced)
    found.push(
      risk(
        'unsynced',
        false,
        `The clock of ${alias} follows no time server`,
        'Set up its time server, or let it reach one',
      ),
    )
  return found
}

function clash({ clash }: Facts): Foreseen[] {
  if (!clash) return []
  const until = clash.until === undefined ? {} : { busyUntil: new Date(clash.until).toISOString() }
  const message = 'Its channels, or all its recorder can capture at once, are taken by another recording when it begins'
  return [risk('clash', true, message, 'Move one of the two, or choose other channels', until)]
}

function destination({ troubles }: Facts): Foreseen[] {
  const [first] = troubles
  if (!first) return []
  const message = `Its copy to ${first.destinationName} would fail: ${first.reason}`
  return [risk('destination_failing', false, message, 'Look at the upload destination in the settings')]
}

/** What stands against the controller's own part in the takes of the day; earliest first. */
interface House {
  /** ISO; undefined without TLS. */
  certificateUntil: string | undefined
  /** Undefined when the file system does not tell. */
  freeBytes: number | undefined
  /** Arriving from takes under way. */
  underWayBytes: number
}

export interface Arriving {
  bytes: number
  endAt: number
  startAt: number
}

/** A risk of the controller itself, and when the first take begins that it threatens. */
export interface HouseRisk extends Foreseen {
  startAt: number
}

/** `within`: how long ahead each kind looks, ms. `takes`: in order of their starts. */
export function houseRisks(
  house: House,
  takes: readonly Arriving[],
  now: number,
  within: (kind: ForesightKind) => number,
): HouseRisk[] {
  return [
    certificate(house, takes.filter(ahead('certificate_ends'))),
    disk(house, takes.filter(ahead('controller_disk_short'))),
  ].filter((found) => found !== undefined)
  function ahead(kind: ForesightKind): (take: Arriving) => boolean {
    return ({ startAt }) => startAt - now <= within(kind)
  }
}

function certificate({ certificateUntil }: House, takes: readonly Arriving[]): HouseRisk | undefined {
  if (certificateUntil === undefined) return undefined
  const until = Date.parse(certificateUntil)
  const threatened = takes.filter(({ endAt }) => endAt > until)
  const [first] = threatened
  if (!first) return undefined
  const message =
    'The certificate of the controller expires before takes that are due: recorders would neither be told to begin nor could deliver'
  const more = { expiresAt: certificateUntil, takes: threatened.length }
  return {
    ...risk(
      'certificate_ends',
      first.startAt >= until,
      message,
      'Renew it now: roomtone tls renew, or as it was obtained',
      more,
    ),
    startAt: first.startAt,
  }
}

function disk({ freeBytes, underWayBytes }: House, takes: readonly Arriving[]): HouseRisk | undefined {
  if (freeBytes === undefined) return undefined
  let needed = underWayBytes
  for (const take of takes) {
    needed += take.bytes
    if (needed <= freeBytes) continue
    const message = `The disk of the controller has room for ${gib(freeBytes)}; with this take ${gib(needed)} are to arrive`
    return {
      ...risk(
        'controller_disk_short',
        false,
        message,
        'Free some of it, let retention delete more, or add a larger disk',
      ),
      startAt: take.startAt,
    }
  }
  return undefined
}

/** Whether a take is near enough to tell of this kind. */
export const isAhead = ({ enabled, leadMinutes }: ForesightRule, startAt: number, now: number): boolean =>
  enabled && startAt - now <= leadMinutes * 60_000

/** What is only to be told stays so however near it is. */
export const severityOf = ({ severity }: ForesightRule, fatal: boolean, startAt: number, now: number): Severity =>
  severity !== 'info' && fatal && startAt - now <= NEAR_MS ? 'critical' : severity
