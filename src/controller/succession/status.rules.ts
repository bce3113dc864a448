// What a box says of itself while it is not the controller.
import type { Lease, StandbyStatus } from '../../wire/lease.ts'

interface Seen {
  lease: Lease | undefined
  selfId: string
  selfName: string
  version: string
}

/** `copyAt`: when the newest copy was written, unix ms. */
export interface Away {
  /** What it does this moment, in place of the usual message. */
  busy?: string | undefined
  copyAt?: number | undefined
  fault?: string | undefined
  role: StandbyStatus['role']
}

export function statusOf({ lease, selfId, selfName, version }: Seen, away: Away, now: number): StandbyStatus {
  const { holder, term } = lease ?? {}
  const serving = holder && term && holder.id !== selfId ? { name: holder.name, term, url: holder.url } : undefined
  const behindSeconds = away.copyAt === undefined ? undefined : Math.max(0, Math.round((now - away.copyAt) / 1000))
  return {
    ...(behindSeconds === undefined ? {} : { behindSeconds }),
    message: away.busy ?? away.fault ?? USUAL[away.role],
    name: selfName,
    ready: away.role === 'standby' && away.fault === undefined && isRecent(away.copyAt, lease),
    role: away.role,
    ...(serving ? { serving } : {}),
    version,
  }
}

/** Both times are of the controller's clock: whether the copy ends when the controller was last seen, or long before. */
const isRecent = (copyAt: number | undefined, lease: Lease | undefined): boolean =>
  copyAt !== undefined && !(Date.parse(lease?.renewedAt ?? '') - copyAt > OLD_MS)

/** Many times the pause between two copies of a large database. */
const OLD_MS = 15 * 60_000

const USUAL = {
  fenced:
    'Another box took over as the controller. To follow it from here on, put standby.conf in place and restart the controller ' +
    '(docs/standby.md: Back again).',
  standby: 'Follows the controller. To take over: sudo roomtone takeover.',
}
