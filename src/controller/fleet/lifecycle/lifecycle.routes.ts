import { setTimeout as pause } from 'node:timers/promises'
import { invalid } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import {
  LIFECYCLE_ACTIONS,
  type LifecycleAction,
  type LifecycleJob,
  LifecycleRequest,
} from '../../../wire/lifecycle.ts'
import type { Events } from '../../events.ts'
import { actorOf } from '../../http/principal.ts'
import { type AnyRoute, flow, route } from '../../http/route.ts'
import type { NodeStore } from '../nodes/nodes.store.ts'
import type { Dispatch } from './dispatch.ts'
import { targetHostOf } from './lifecycle.rules.ts'
import type { LifecycleStore } from './lifecycle.store.ts'

interface Parts {
  dispatch: Dispatch
  events: Events
  ids: Ids
  jobs: LifecycleStore
  nodes: NodeStore
}

const node = (p: { id: string }) => ({ type: 'node', id: p.id })

// Proxies and people give up on a request long before an installation is over; the job goes on.
const PATIENCE_MS = 10_000

export const lifecycleRoutes = ({ dispatch, events, ids, jobs, nodes }: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/nodes/:id/lifecycle-jobs',
    auth: 'user',
    permission: 'node:read',
    action: 'nodes.lifecycle_jobs.read',
    target: node,
    run: ({ params }) => {
      nodes.mustExist(params.id)
      return { data: jobs.ofNode(params.id) }
    },
  }),
  // 202 when it succeeded or still runs, 502 when it failed: the job in the body either way (docs/contract/lifecycle.md:
  // Actions). Its outcome is audited as `nodes.lifecycle.<action>.*` when it ends; only a refusal is one of
  // `nodes.lifecycle.run`.
  flow({
    method: 'POST',
    path: '/nodes/:id/lifecycle/:action',
    auth: 'user',
    permission: 'node:manage',
    action: 'nodes.lifecycle.run',
    target: node,
    whole: true,
    audit: 'decision',
    body: LifecycleRequest,
    status: 202,
    otherwise: { 502: 'The action failed: the job says why' },
    run: async ({ params, body, principal }, commit) => {
      const action = allowed(params.action)
      let made: LifecycleJob | undefined
      const stored = commit((now) => {
        nodes.mustServe(params.id)
        const { alias, id, ...at } = nodes.get(params.id, now)
        const request = {
          action,
          nodeAlias: alias,
          nodeId: id,
          requestedBy: principal.id,
          targetHost: targetHostOf(at),
        }
        events.emit('lifecycle.progressed', { nodeId: id })
        made = jobs.create({ ...request, id: ids.make('node_lifecycle') }, now)
        return { data: made }
      })
      const { data: job } = await stored.catch((e) => {
        if (made) dispatch.abandon(made, actorOf(principal))
        throw e
      })
      const data = await endedOrPending(dispatch.start(job, body, actorOf(principal)), job)
      if (data.status !== 'failed') return { data }
      const { error: reason = 'ansible_lifecycle_failed' } = data
      return { data, beside: { error: `Lifecycle action failed: ${reason}`, reason }, status: 502 }
    },
  }),
]

function allowed(action: string): LifecycleAction {
  const known = LIFECYCLE_ACTIONS.find((one) => one === action)
  if (!known)
    throw invalid('Invalid node lifecycle request', ['action'], `expected one of ${LIFECYCLE_ACTIONS.join(', ')}`)
  return known
}

/** The ended job, or the running one after `PATIENCE_MS`. */
async function endedOrPending(ending: Promise<LifecycleJob>, job: LifecycleJob): Promise<LifecycleJob> {
  const patience = new AbortController()
  const waited = pause(PATIENCE_MS, job, { signal: patience.signal }).catch(() => job)
  try {
    return await Promise.race([ending, waited])
  } finally {
    patience.abort()
  }
}
