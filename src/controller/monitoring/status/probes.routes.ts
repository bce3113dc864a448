import { version } from '../../../kernel/version.ts'
import type { RunnerReport } from '../../../wire/status.ts'
import { isLocal } from '../../http/incoming.ts'
import { held } from '../../http/page.ts'
import { type AnyRoute, stream } from '../../http/route.ts'
import type { Db } from '../../store/db.ts'
import type { CommitGroup } from '../../store/group.ts'

const controller = () => ({ type: 'controller' })
const open = { auth: 'none', permission: null, target: controller } as const

/** Liveness and readiness: no permission, no audit row, flat bodies (docs/contract/api.md: Status and probes). */
export const probeRoutes = (
  db: Db,
  group: Pick<CommitGroup, 'failing'>,
  startedAt: string,
  runners: () => RunnerReport[],
): AnyRoute[] => {
  // Not probed while writes succeed: another program may hold the lock for a moment.
  const writable = (): boolean => !group.failing() || reachable(() => db.probeWrite())
  const alive = db.stmt<object, { n: number }>('SELECT 1 AS n FROM users LIMIT 1')
  const service = { service: 'roomtone', startedAt, version }
  return [
    stream({
      method: 'GET',
      path: '/healthz',
      ...open,
      action: 'status.healthz',
      audit: 'none',
      run: async () => ({ response: held({ ok: true, ...service }) }),
    }),
    stream({
      method: 'GET',
      path: '/readyz',
      ...open,
      action: 'status.readyz',
      audit: 'none',
      run: async ({ request }) => {
        const ok = reachable(() => alive.get({})) && db.inPlace() && writable()
        return {
          response: held(
            {
              ok,
              database: ok ? 'ready' : 'unreachable',
              ...service,
              ...(isLocal(request) ? { runners: runners().map(pulseOf) } : {}),
            },
            ok ? 200 : 503,
          ),
        }
      },
    }),
  ]
}

const pulseOf = ({ enabled, intervalSeconds, lastError, lastRunAt, name, running }: RunnerReport) => ({
  ...{ enabled, intervalSeconds, name, running },
  ...(lastError === undefined ? {} : { lastError }),
  ...(lastRunAt === undefined ? {} : { lastRunAt }),
})

function reachable(ask: () => unknown): boolean {
  try {
    ask()
    return true
  } catch {
    // Any error is the answer: a missing table, a broken file, a failing disk.
    return false
  }
}
