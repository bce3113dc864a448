import { iso } from '../../../kernel/clock.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { UserPrincipal } from '../../http/principal.ts'

/** Somebody who listens to a node. */
export interface Listener {
  enhance: boolean
  /** Sequence of the chunk that the last poll got. */
  given?: number
  id: string
  lastSeenAt: string
  /** The login session it was started in: it ends with it. */
  loginId: string
  nodeId: string
  startedAt: string
  userId: string
}

/** What an agent has to know about its listeners. */
interface Demand {
  enhanced: boolean
  listening: boolean
}

/** Listen sessions, in memory (docs/contract/listening.md: Sessions). */
export interface ListenSessions {
  /** Whether anybody listened to the node within the last seconds, and to which rendition. */
  demand(nodeId: string, now: string): Demand
  find(nodeId: string, id: string, now: string): Listener | undefined
  /** The wall clock jumped by so many ms: shifts when listeners were last seen. */
  clockJumped(by: number): void
  /** Notes the chunk that a poll got. */
  noteGiven(id: string, sequence: number): void
  /** How many are live. */
  count(now: string): number
  start(principal: UserPrincipal, nodeId: string, enhance: boolean, now: string): Listener
  /** False when it had ended already. */
  stop(id: string): boolean
  /** The listener asked for audio. False when it had ended already. */
  touch(id: string, now: string): boolean
}

/** A node sends (enhanced) audio while a listener asked for it within this time. */
const DEMAND_MS = 15_000
// Above this a user's oldest session ends.
const MAX_PER_USER = 32

/**
 * Sessions that end after `ttlSeconds` without a poll. `changed` is called when a node's demand may have changed.
 */
export function listenSessions(ids: Ids, ttlSeconds: number, changed: (nodeId: string) => void): ListenSessions {
  // Least recently seen first: a touched one is reinserted.
  const live = new Map<string, Listener>()
  const since = (at: string, now: string): number => Date.parse(now) - Date.parse(at)

  const evict = (now: string): void => {
    for (const [id, { lastSeenAt }] of live) {
      if (since(lastSeenAt, now) <= ttlSeconds * 1000) break
      live.delete(id)
    }
  }
  const seen = (listener: Listener): void => {
    live.delete(listener.id)
    live.set(listener.id, listener)
  }
  const stop = (id: string): boolean => {
    const listener = live.get(id)
    live.delete(id)
    if (listener) changed(listener.nodeId)
    return listener !== undefined
  }

  return {
    count(now) {
      evict(now)
      return live.size
    },
    demand(nodeId, now) {
      const active = [...live.values()].filter((l) => l.nodeId === nodeId && since(l.lastSeenAt, now) <= DEMAND_MS)
      return { enhanced: active.some((l) => l.enhance), listening: active.length > 0 }
    },
    find(nodeId, id, now) {
      evict(now)
      const listener = live.get(id)
      return listener?.nodeId === nodeId ? listener : undefined
    },
    start(principal, nodeId, enhance, now) {
      evict(now)
      const own = [...live.values()].filter((l) => l.userId === principal.id)
      for (const forgotten of own.slice(0, Math.max(0, own.length - MAX_PER_USER + 1))) stop(forgotten.id)
      const id = ids.make('listen')
      const person = { loginId: principal.sessionId, userId: principal.id }
      const listener = { enhance, id, lastSeenAt: now, nodeId, startedAt: now, ...person }
      seen(listener)
      changed(nodeId)
      return listener
    },
    stop,
    clockJumped(by) {
      for (const listener of live.values()) listener.lastSeenAt = iso(Date.parse(listener.lastSeenAt) + by)
    },
    noteGiven(id, sequence) {
      const listener = live.get(id)
      if (listener) listener.given = sequence
    },
    touch(id, now) {
      const listener = live.get(id)
      if (!listener) return false
      const lapsed = since(listener.lastSeenAt, now) > DEMAND_MS
      listener.lastSeenAt = now
      seen(listener)
      if (lapsed) changed(listener.nodeId)
      return true
    },
  }
}
