import { iso } from '../../../kernel/clock.ts'
import { version } from '../../../kernel/version.ts'
import { ChangeQuery } from '../../../wire/changes.ts'
import type { EventMap } from '../../events.ts'
import { offlineBefore } from '../../fleet/nodes/status.rules.ts'
import { stream } from '../../http/route.ts'
import { eventStream } from '../../http/sse.ts'
import type { Base, Module } from '../../module.ts'
import type { LiveApi } from '../listen/api.ts'
import { changedBy } from './changes.rules.ts'
import { healthCounts } from './counts.ts'
import { type Announced, changeEvents } from './events.ts'
import { stateStore } from './states.store.ts'

/** Tells people who watch what has changed, so that nobody polls (docs/contract/api.md: Change stream). */
export function createChanges(base: Base, { live }: { live: LiveApi }): Module {
  const { authorization, clock, db, events, ids } = base
  const { principals, scope } = authorization
  const listeners = new Set<(change: Announced) => void>()
  const subscribe = (listener: (change: Announced) => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  const counts = healthCounts(db, authorization.visibility)
  const announce = (change: Omit<Announced, 'at'>): void => {
    counts.forget()
    const at = iso(clock.now())
    for (const listener of listeners) listener({ ...change, at })
  }
  events.on('resource.changed', 'within', (event) => {
    if (listeners.size === 0) return
    const before = event.placesBefore?.()
    events.afterCommit(() => {
      // Where the thing itself was says nothing of the take that it concerns.
      for (const [i, change] of changedBy(event).entries())
        announce({ ...change, before: i === 0 ? before : undefined })
    })
  })
  events.on('job.progressed', 'after', ({ id }) =>
    announce({ kind: 'job', op: 'updated', target: { type: 'recording_job', id } }),
  )
  events.on('job.changed', 'after', ({ id, recordingId }) => {
    if (id !== undefined) announce({ kind: 'job', op: 'updated', target: { type: 'recording_job', id } })
    announce({ kind: 'recording', op: 'updated', target: { type: 'recording', id: recordingId } })
  })
  const alerted =
    (op: Announced['op']) =>
    ({ id, recordingId }: EventMap['health.opened']): void => {
      announce({ kind: 'health', op, target: { type: 'health_event', id } })
      if (recordingId !== undefined)
        announce({ kind: 'recording', op: 'updated', target: { type: 'recording', id: recordingId } })
    }
  events.on('health.opened', 'after', alerted('created'))
  events.on('health.changed', 'after', alerted('updated'))
  for (const type of ['lifecycle.progressed', 'node.status'] as const)
    events.on(type, 'after', ({ nodeId: id }) =>
      announce({ kind: 'node', op: 'updated', target: { type: 'node', id } }),
    )
  const boot = { bootId: ids.make('boot'), version }
  const percents = new Map<string, number>()
  events.on('upload.progressed', 'after', ({ percent, recordingId: id }) => {
    if (percent === undefined) percents.delete(id)
    else percents.set(id, percent)
    announce({ kind: 'upload', op: 'updated', target: { type: 'recording', id } })
  })
  const offlineAfter = base.config.SVC_NODE_OFFLINE_AFTER_SECONDS
  const stateOf = stateStore(
    db,
    (id) => percents.get(id),
    () => offlineBefore(iso(clock.now()), offlineAfter),
  )
  const parts = { countsFor: counts.of, principals, scope, stateOf, subscribe }
  return {
    api: undefined,
    routes: [
      stream({
        method: 'GET',
        path: '/events',
        auth: 'user',
        permission: null,
        action: 'events.read',
        target: () => ({ type: 'controller' }),
        query: ChangeQuery,
        run: async ({ now, principal, query: { kinds }, request }) => {
          const source = changeEvents({ ...parts, hello: { ...boot, at: now }, kinds, principal })
          return { response: eventStream(live.streams, principal.id, request, source) }
        },
      }),
    ],
  }
}
