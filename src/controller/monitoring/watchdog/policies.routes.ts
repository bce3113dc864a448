import { Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import { API_PREFIX } from '../../../wire/headers.ts'
import {
  CalibrationRequest,
  type WatchdogPolicy,
  WatchdogPolicyInput,
  WatchdogPolicyPatch,
} from '../../../wire/watchdog.ts'
import type { FleetApi } from '../../fleet/api.ts'
import { actionStates } from '../../http/actions.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import { type AnyRoute, route } from '../../http/route.ts'
import type { Scope } from '../../http/scope.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { Meters } from '../meters/meters.store.ts'
import { calibrated } from './calibration.rules.ts'
import type { WatchdogPolicyStore } from './policies.store.ts'

interface WatchdogPolicyParts {
  ids: Ids
  meters: Pick<Meters, 'history'>
  nodes: Pick<FleetApi['nodes'], 'mustExist'>
  visibility: ReturnType<typeof visibilities>
  scope: Scope
  watchdogPolicies: WatchdogPolicyStore
}

const all = () => ({ type: 'watchdog_policy_collection' })
const one = (p: { id: string }) => ({ type: 'watchdog_policy', id: p.id })
const read = { auth: 'user', permission: 'settings:read' } as const
const manage = { auth: 'user', permission: 'settings:manage' } as const
const PATH = '/settings/watchdog-policies'

export const watchdogPolicyRoutes = (parts: WatchdogPolicyParts): AnyRoute[] => [
  route({
    method: 'GET',
    path: PATH,
    ...read,
    action: 'settings.watchdog_policies.read',
    target: all,
    run: ({ principal }) => ({ data: parts.watchdogPolicies.list(parts.visibility(principal, 'settings:read')) }),
  }),
  route({
    method: 'POST',
    path: PATH,
    ...manage,
    action: 'settings.watchdog_policies.create',
    target: all,
    body: WatchdogPolicyInput,
    status: 201,
    run: ({ body, now }) => {
      const after = parts.watchdogPolicies.create(parts.ids.make('watchdog_policy'), body, now)
      return { data: after, after, target: { ...one(after), name: after.name } }
    },
  }),
  route({
    method: 'GET',
    path: `${PATH}/:id`,
    ...read,
    action: 'settings.watchdog_policies.detail.read',
    target: one,
    run: ({ params }) => ({ data: parts.watchdogPolicies.get(params.id) }),
  }),
  route({
    method: 'GET',
    path: `${PATH}/:id/actions`,
    ...read,
    action: 'settings.watchdog_policies.actions.read',
    target: one,
    run: ({ params, principal }) => {
      const policy = parts.watchdogPolicies.get(params.id)
      return { data: { actions: actions(principal, policy), links: links(policy), policy } }
    },
  }),
  route({
    method: 'PATCH',
    path: `${PATH}/:id`,
    ...manage,
    action: 'settings.watchdog_policies.update',
    target: one,
    body: WatchdogPolicyPatch,
    run: ({ body, now, params }) => {
      const { before, after } = parts.watchdogPolicies.patch(params.id, body, now)
      return { data: after, before, after }
    },
  }),
  route({
    method: 'POST',
    path: `${PATH}/:id/calibrations`,
    ...manage,
    action: 'settings.watchdog_policies.calibrate',
    target: one,
    body: CalibrationRequest,
    run: ({ body, now, params, principal }) => {
      const before = parts.watchdogPolicies.get(params.id)
      const calibration = calibrated(framesOf(parts, body, principal), before, body)
      const audited = { correlation: { nodeId: body.nodeId }, details: { ...calibration } }
      const after = body.apply
        ? parts.watchdogPolicies.patch(params.id, calibration.recommendation.update, now).after
        : undefined
      return {
        data: { calibration, ...(after ? { policy: after } : {}) },
        ...audited,
        ...(after ? { before, after } : {}),
      }
    },
  }),
]

const MADE_UP =
  'The levels of this node come from a test source: made-up levels do not count. Calibrate when it has a capture device'

// Frames examined; the meters keep about as many.
const HISTORY = 600

/**
 * Levels of the newest real frames.
 * @throws Fail 403 for a node out of scope, 404 for an unknown one, 422 when there are too few.
 */
function framesOf({ meters, nodes, scope }: WatchdogPolicyParts, body: CalibrationRequest, principal: UserPrincipal) {
  const { frameLimit, minFrames, nodeId } = body
  const verdict = scope.decide(principal, 'settings:manage', { type: 'node', id: nodeId })
  if (!verdict.allowed)
    throw new Fail(403, verdict.reason, 'Forbidden', { body: { permission: 'settings:manage' }, outcome: 'denied' })
  nodes.mustExist(nodeId)
  // Synthetic levels say nothing about a room (ADR-0018).
  const history = meters.history(nodeId, HISTORY)
  const real = history.filter(({ frame }) => !frame.synthetic && frame.levels.length > 0)
  const heard = real.slice(0, frameLimit)
  if (heard.length >= minFrames) return heard.map(({ frame }) => frame.levels)
  const details = { frameCount: heard.length, minFrames }
  if (history.some(({ frame }) => frame.synthetic))
    throw new Fail(422, 'meter_levels_made_up', MADE_UP, { body: { reason: 'meter_levels_made_up' }, details })
  const message = tooFew(heard.length, minFrames)
  throw new Fail(422, 'insufficient_meter_history', 'Not enough meter history for calibration', {
    body: { ...details, message },
    details,
  })
}

const tooFew = (frameCount: number, minFrames: number): string =>
  `${frameCount} of ${minFrames} frames of levels have come from this node: listen to it or record until there are enough, or ask for fewer with minFrames`

const hrefOf = (policy: WatchdogPolicy): string => `${API_PREFIX}${PATH}/${encodeURIComponent(policy.id)}`

const links = (policy: WatchdogPolicy) => ({
  calibrate: `${hrefOf(policy)}/calibrations`,
  detail: hrefOf(policy),
  update: hrefOf(policy),
})

function actions(principal: UserPrincipal, policy: WatchdogPolicy) {
  const { calibrate, detail, update } = links(policy)
  return actionStates(principal, {
    calibrate: { href: calibrate, method: 'POST', permission: 'settings:manage' },
    detail: { href: detail, method: 'GET', permission: 'settings:read' },
    update: { href: update, method: 'PATCH', permission: 'settings:manage' },
  })
}
