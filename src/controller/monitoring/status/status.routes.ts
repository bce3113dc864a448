import { version } from '../../../kernel/version.ts'
import { BUILT_IN } from '../../../wire/settings.ts'
import type { RunnerReport, Status } from '../../../wire/status.ts'
import type { Certificates } from '../../http/certificates.ts'
import type { Reach, reaches } from '../../http/reach.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { UserWho } from '../../http/who.ts'
import type { RecordingsApi } from '../../recordings/api.ts'
import type { WatchdogPolicyStore } from '../watchdog/policies.store.ts'
import type { CountStore } from './counts.store.ts'
import type { MetricsStore } from './metrics.store.ts'
import { countedStatus } from './status.rules.ts'

interface StatusParts {
  certificates?: Pick<Certificates, 'shown'> | undefined
  counts: CountStore
  metrics: MetricsStore
  profiles: Pick<RecordingsApi['profiles'], 'list'>
  reach: ReturnType<typeof reaches>
  runners: () => (RunnerReport & { passes: number })[]
  startedAt: string
  /** How long the controller runs, by the monotonic clock. */
  uptimeMs: () => number
  watchdogPolicies: Pick<WatchdogPolicyStore, 'list'>
}

export const statusRoutes = (parts: StatusParts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/status',
    auth: 'user',
    permission: 'node:read',
    action: 'status.read',
    target: () => ({ type: 'controller' }),
    run: ({ who, now }) => {
      const status = statusOf(parts, who, now)
      // The console reads the keys beside `data` (decision 3).
      return { data: status, beside: { ...status } }
    },
  }),
]

function statusOf(parts: StatusParts, who: UserWho, now: string): Status {
  const { counts, metrics, reach, startedAt, uptimeMs } = parts
  const nodes = reach(who, 'node:read')
  const recordings = reach(who, 'recording:read')
  return {
    ...countedStatus({
      active: metrics.running(recordings).length,
      health: counts.health(reach(who, 'health:read')),
      nodes: metrics.nodes(nodes, now),
      recordings: counts.recordings(recordings),
    }),
    ...settingsOf(parts, who),
    ...(parts.certificates ? { certificateExpiresAt: parts.certificates.shown.expiresAt } : {}),
    ...(nodes.unrestricted ? { runners: parts.runners().map(reported) } : {}),
    startedAt,
    uptimeSeconds: Math.floor(uptimeMs() / 1000),
    version,
  }
}

const reported = ({ passes: _, ...runner }: RunnerReport & { passes: number }): RunnerReport => runner

/** What new recordings get when nothing says otherwise. */
function settingsOf({ profiles, reach, watchdogPolicies }: StatusParts, who: UserWho): Partial<Status> {
  if (!who.permissions.has('settings:read')) return {}
  const visible = reach(who, 'settings:read')
  const recordingProfile = preferred(profiles, visible, BUILT_IN.profile)
  const watchdogPolicy = preferred(watchdogPolicies, visible, BUILT_IN.watchdog)
  return { ...(recordingProfile ? { recordingProfile } : {}), ...(watchdogPolicy ? { watchdogPolicy } : {}) }
}

function preferred<T extends { id: string }>(
  from: { list(reach: Reach): T[] },
  visible: Reach,
  id: string,
): T | undefined {
  const all = from.list(visible)
  return all.find((one) => one.id === id) ?? all[0]
}
