import { iso } from '../../../kernel/clock.ts'
import { Fail } from '../../../kernel/fail.ts'
import { faultWords } from '../../../kernel/words.ts'
import { dateOf } from '../../../kernel/zones.ts'
import type { ForesightKind } from '../../../wire/foresight.ts'
import type { Interface, Node } from '../../../wire/nodes.ts'
import type { FleetApi } from '../../fleet/api.ts'
import { sameDevice } from '../../fleet/nodes/reconcile.rules.ts'
import type { RecordingsApi } from '../../recordings/api.ts'
import { arrivingBytes, captureBytes } from '../../recordings/library/room.rules.ts'
import type { Foreseen as Start } from '../../recordings/library/start.rules.ts'
import type { SchedulesApi } from '../../schedules/api.ts'
import { pendingSlot, type Stored } from '../../schedules/planning.rules.ts'
import type { Slot } from '../../schedules/recurrence.rules.ts'
import { faultsOf } from '../../schedules/risks.rules.ts'
import type { UploadsApi } from '../../uploads/api.ts'
import type { LiveApi } from '../listen/api.ts'
import type { FactStore, Identity, KnownDevice } from './facts.store.ts'
import { type Arriving, type Coming, type Facts, isDoubted } from './risks.rules.ts'
import { clashes } from './rivals.rules.ts'
import { type Load, needOf } from './room.rules.ts'

interface ExamineParts {
  claims: Pick<RecordingsApi['claims'], 'activeCaptures'>
  facts: FactStore
  meters: Pick<LiveApi['meters'], 'latest'>
  nodes: Pick<FleetApi['nodes'], 'find'>
  schedules: SchedulesApi
}

/** What is the same for all takes of a pass. */
interface Surroundings {
  /** Whether this was told before: then it takes more to be over. */
  isTold: (kind: ForesightKind, scheduleId: string) => boolean
  now: string
  troubles: ReturnType<UploadsApi['troubles']>
}

export interface Examined {
  arriving: Arriving
  coming: Coming
  facts: Facts
  /** The device to be expected from now on; absent when it is known, or cannot be. */
  remember: KnownDevice | undefined
}

/** A disk that is short is not before this much more is free. */
const EASED = 0.95

interface Take {
  foreseen: Start | undefined
  refused: Facts['refused']
  schedule: Stored
  slot: Slot
  endAt: number
}

/** Finds out what is known of the takes of one recorder (undefined: of none) that are due; reads only. */
export function examiner(parts: ExamineParts) {
  const { claims, facts, nodes, schedules } = parts
  return (nodeId: string | undefined, ids: readonly string[], around: Surroundings): Examined[] => {
    const { now } = around
    const node = nodeId === undefined ? undefined : nodes.find(nodeId, now)
    const takes = takesOf(parts, node, ids, now)
    const readiness = schedules.readiness(ids, now)
    const known = facts.devices(ids)
    const wishes = takes.map(wishOf)
    const capacity = node?.recordingCapacity?.maxConcurrentRecordings ?? 1
    const clash = node ? clashes(claims.activeCaptures(node.id), wishes, capacity) : []
    const loads = takes.map(loadOf)
    const unavailable = node ? unavailableOf(parts, node) : () => undefined
    return takes.map((take, i) => {
      const device = take.foreseen?.device ?? named(node, take.schedule)
      const ready = readiness.get(take.schedule.id)
      const faults = ready ? faultsOf(ready) : []
      const memory = expected(take.schedule, device, known.get(take.schedule.id), faults.length === 0)
      const own = loads[i] as Load
      return {
        arriving: { bytes: arriving(take), endAt: take.endAt, startAt: take.slot.startAt },
        coming: comingOf(take),
        facts: {
          ...ofNode(node),
          clash: take.foreseen ? clash[i] : undefined,
          device: device?.alias,
          doubted: node !== undefined && isDoubted(silenceOf(node), take.slot.startAt, Date.parse(now)),
          disk: diskOf(node, own, loads.slice(0, i), around.isTold('disk_short', take.schedule.id)),
          faults,
          instead: insteadOf(node, device),
          refused: take.refused,
          replaced: memory.replaced,
          troubles: take.schedule.uploadPolicyIds.flatMap((id) => around.troubles.get(id) ?? []),
          unavailable: unavailable(device),
        },
        remember: memory.remember,
      }
    })
  }
}
export type Examiner = ReturnType<typeof examiner>

/** The takes that have yet to begin, in order of their starts, and what a start would say of each. */
function takesOf({ schedules }: ExamineParts, node: Node | undefined, ids: readonly string[], now: string): Take[] {
  const waiting = schedules.schedules.some(ids).flatMap((schedule) => {
    const slot = pendingSlot(schedule)
    return schedule.enabled && slot && slot.startAt > Date.parse(now) ? [{ schedule, slot }] : []
  })
  waiting.sort((a, b) => a.slot.startAt - b.slot.startAt)
  return waiting.map(({ schedule, slot }) => {
    const seconds = slot.endAt === undefined ? undefined : Math.ceil((slot.endAt - slot.startAt) / 1000)
    const asked = { seconds, startAt: slot.scheduledAt }
    const said = node ? attempt(() => schedules.foresee(schedule, node, asked, now)) : {}
    const length = said.foreseen?.seconds ?? seconds ?? 0
    return { endAt: slot.startAt + length * 1000, foreseen: said.foreseen, refused: said.refused, schedule, slot }
  })
}

function attempt(start: () => Start): { foreseen?: Start; refused?: NonNullable<Facts['refused']> } {
  try {
    return { foreseen: start() }
  } catch (e) {
    // Nothing can be read: the pass fails as a whole.
    if (e instanceof Fail && e.status === 503) throw e
    if (e instanceof Fail) return { refused: { message: e.message, reason: e.reason } }
    return { refused: { message: faultWords(e), reason: 'internal_error' } }
  }
}

const comingOf = ({ endAt, schedule, slot }: Take): Coming => ({
  endAt,
  nodeId: schedule.nodeId,
  occurrenceAt: iso(slot.scheduledAt),
  occurrenceDate: dateOf(slot.day),
  scheduleId: schedule.id,
  scheduleName: schedule.name,
  startAt: slot.startAt,
})

const wishOf = ({ endAt, foreseen, schedule, slot }: Take) => ({
  // What is refused takes nothing.
  endAt: foreseen ? endAt : slot.startAt,
  interfaceId: foreseen?.device?.id,
  selection: schedule.captureChannelSelection,
  startAt: slot.startAt,
})

const loadOf = ({ endAt, foreseen, slot }: Take): Load => ({
  bytes: foreseen ? captureBytes(foreseen.command) : 0,
  endAt,
  interfaceId: foreseen?.device?.id,
  startAt: slot.startAt,
})

const arriving = ({ foreseen }: Take): number => (foreseen ? arrivingBytes(foreseen.command) : 0)

const named = (node: Node | undefined, { captureInterfaceId }: Stored): Interface | undefined =>
  node?.interfaces.find(({ id }) => id === captureInterfaceId)

function ofNode(node: Node | undefined): Pick<Facts, 'alias' | 'lastSeenAt' | 'skewSeconds' | 'unsynced'> {
  const clock = node?.runtime?.clock
  return {
    alias: node?.alias,
    lastSeenAt: node && node.status !== 'provisioning' ? node.lastSeenAt : undefined,
    skewSeconds: clock?.skewSeconds,
    unsynced: clock?.synced === false,
  }
}

const silenceOf = ({ lastSeenAt, runtime, status }: Node) => ({
  // Never heard of, it is not doubted but offline.
  heartbeatSeconds: status === 'provisioning' ? undefined : runtime?.heartbeatSeconds,
  lastSeenAt,
})

function diskOf(node: Node | undefined, own: Load, before: readonly Load[], told: boolean): Facts['disk'] {
  const room = node?.runtime?.disk?.roomBytes
  return room === undefined || own.bytes === 0 ? undefined : needOf(own, before, Math.floor(told ? room * EASED : room))
}

/** A device that is plugged in where an absent one was. */
function insteadOf(node: Node | undefined, device: Interface | undefined): string | undefined {
  if (!device?.absent || device.hardwarePath === undefined) return undefined
  return node?.interfaces.find(({ absent, hardwarePath }) => !absent && hardwarePath === device.hardwarePath)?.alias
}

/** Details are whatever a recorder sends. */
const wordOf = (detail: unknown): string => (typeof detail === 'string' ? detail : '')

/** What the recorder says of a device that it could not open; a frame of levels since says that it can again. */
function unavailableOf(
  { facts, meters }: ExamineParts,
  node: Node,
): (device: Interface | undefined) => string | undefined {
  const told = facts.told(node.id, 'agent.meter.device_unavailable')
  return (device) => {
    if (!device) return undefined
    const fault = told.find(({ details }) => sameDevice(wordOf(details.device), device.systemRef))
    const heard = meters.latest(node.id, device.id)?.receivedAt
    return fault && !(heard !== undefined && heard > fault.openedAt) ? wordOf(fault.details.error) : undefined
  }
}

const identityOf = ({ id, serialNumber, systemName }: Interface): Identity => ({
  id,
  name: systemName,
  serial: serialNumber ?? null,
})

const isSame = (a: Identity, b: Identity): boolean =>
  a.id === b.id && a.name === b.name && (a.serial === null || b.serial === null || a.serial === b.serial)

const called = ({ name, serial }: Identity): string => (serial === null ? name : `${name} (${serial})`)

/** Whether another device is in the place of the one the schedule recorded from; what to remember where nothing is known. */
function expected(
  schedule: Stored,
  device: Interface | undefined,
  known: KnownDevice | undefined,
  well: boolean,
): { remember: KnownDevice | undefined; replaced: Facts['replaced'] } {
  if (!device || device.absent || !well) return { remember: undefined, replaced: undefined }
  const asked = JSON.stringify([schedule.nodeId, schedule.captureInterfaceId ?? null])
  const now = identityOf(device)
  if (known?.asked !== asked) return { remember: { asked, device: now }, replaced: undefined }
  const same = isSame(known.device, now)
  return { remember: undefined, replaced: same ? undefined : { before: called(known.device), now: called(now) } }
}
