import { version } from '../../../kernel/version.ts'
import { BUILT_IN } from '../../../wire/settings.ts'
import type { RunnerReport, Status } from '../../../wire/status.ts'
import type { Certificates } from '../../http/certificates.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { Visibility, visibilities } from '../../http/visibility.ts'
import type { RecordingsApi } from '../../recordings/api.ts'
import type { WatchdogPolicyStore } from '../watchdog/policies.store.ts'
import type { CountStore } from './counts.store.ts'
import type { MetricsStore } from './metrics.store.ts'
import { countedStatus } from './status.rules.ts'

interface StatusParts {
  certificates?: Pick<Certificates, 'served'> | undefined
  counts: CountStore
  metrics: MetricsStore
  profiles: Pick<RecordingsApi['profiles'], 'list'>
  visibility: ReturnType<typeof visibilities>
  runners: () => (RunnerReport & { passes: number })[]
  startedAt: string
  /** Uptime of the controller, by the monotonic clock. */
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
    run: ({ principal, now }) => {
      const status = statusOf(parts, principal, now)
      // The console reads the keys next to `data` (docs/contract/api.md: Envelope).
      return { data: status, beside: { ...status } }
    },
  }),
]

function statusOf(parts: StatusParts, principal: UserPrincipal, now: string): Status {
  const { counts, metrics, visibility, startedAt, uptimeMs } = parts
  const nodes = visibility(principal, 'node:read')
  const recordings = visibility(principal, 'recording:read')
  return {
    ...countedStatus({
      active: metrics.running(recordings).length,
      health: counts.health(visibility(principal, 'health:read')),
      nodes: metrics.nodes(nodes, now),
      recordings: counts.recordings(recordings),
      uploads: counts.uploads(recordings),
    }),
    ...settingsOf(parts, principal),
    ...(parts.certificates ? { certificateExpiresAt: parts.certificates.served.expiresAt } : {}),
    ...(nodes.unrestricted ? { runners: parts.runners().map(runnerReport) } : {}),
    startedAt,
    uptimeSeconds: Math.floor(uptimeMs() / 1000),
    version,
  }
}

const runnerReport = ({ passes: _, ...runner }: RunnerReport & { passes: number }): RunnerReport => runner

/** The defaults of new recordings. */
function settingsOf(
  { profiles, visibility, watchdogPolicies }: StatusParts,
  principal: UserPrincipal,
): Partial<Status> {
  if (!principal.permissions.has('settings:read')) return {}
  const visible = visibility(principal, 'settings:read')
  const recordingProfile = preferred(profiles, visible, BUILT_IN.profile)
  const watchdogPolicy = preferred(watchdogPolicies, visible, BUILT_IN.watchdog)
  return { ...(recordingProfile ? { recordingProfile } : {}), ...(watchdogPolicy ? { watchdogPolicy } : {}) }
}

function preferred<T extends { id: string }>(
  from: { list(visibility: Visibility): T[] },
  visible: Visibility,
  id: string,
): T | undefined {
  const all = from.list(visible)
  return all.find((one) => one.id === id) ?? all[0]
}
