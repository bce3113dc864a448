import type { Change, ChangeKind, ChangeState, Hello } from '../../../wire/changes.ts'
import type { Pair, UserPrincipal } from '../../http/principal.ts'
import type { Principals } from '../../http/principals.ts'
import { type Scope, verdict } from '../../http/scope.ts'
import type { EventQueue, EventSource } from '../../http/sse.ts'
import { type Changed, permissionOf, shownId } from './changes.rules.ts'
import type { stateStore } from './states.store.ts'

/** A committed change as every stream gets it. */
export interface Announced extends Changed {
  at: string
  /** Where it was before, when it moved or is gone: who saw it there is told. */
  before?: readonly Pair[] | undefined
}

interface Parts {
  hello: Hello
  /** Only these; all when absent. */
  kinds?: readonly ChangeKind[] | undefined
  principal: UserPrincipal
  principals: Pick<Principals, 'reload'>
  scope: Pick<Scope, 'expand'>
  countsFor(person: UserPrincipal): NonNullable<ChangeState['counts']>
  stateOf: ReturnType<typeof stateStore>
  /** @returns how to end it */
  subscribe(listener: (change: Announced) => void): () => void
}

/** What its record names only in part, when a denial is to be judged. */
const PARTLY_NAMED = new Set(['channel', 'health_event', 'interface', 'node', 'recording', 'recording_job', 'switcher'])

const hasMoved = (before: readonly Pair[], now: readonly Pair[] = []): boolean =>
  before.some((was) => !now.some(({ id, type }) => id === was.id && type === was.type))

/** More changes than this wait for nobody: a client that is so far behind reads everything again. */
const MAX_WAITING = 1000

/**
 * The changes a person may see, `event: change` each; of one resource only the newest waits. Scope is decided when an event
 * is sent, by the rule that decides about reading the resource. Rights are read anew every few seconds: when they have
 * changed, `resync` tells the client to read everything again, and an ended session ends the stream.
 */
export function changeEvents({
  countsFor,
  hello,
  kinds,
  principal,
  principals,
  scope,
  stateOf,
  subscribe,
}: Parts): EventSource {
  let person: UserPrincipal | undefined
  let rights: string | undefined
  let resync: (() => void) | undefined
  const sees = (change: Announced, pairs: readonly Pair[] | undefined): boolean =>
    person !== undefined && verdict(person, permissionOf(change), pairs && [...pairs]).allowed
  /** What happened to it for this person; undefined when they are not told. */
  const opFor = (change: Announced): Change['op'] | undefined => {
    const { before, op, target } = change
    const now = target.id === undefined ? undefined : scope.expand(target)
    if (sees(change, now)) return op
    if (!before || !person || !sees(change, before)) return undefined
    // A denial may hide a thing by what its record does not name: the rooms of its channels, the take of an alert. What has
    // not moved was hidden before; of what is gone nobody knows any more.
    if (person.deny.length > 0 && (PARTLY_NAMED.has(target.type) || !hasMoved(before, now))) return undefined
    return 'deleted'
  }
  const textOf = (change: Announced): string | undefined => {
    const op = opFor(change)
    if (!op) return undefined
    const { at, kind, target } = change
    const id = shownId(change)
    const state = op === 'deleted' || target.id === undefined ? undefined : stateOf(kind, target.id)
    if (state && kind === 'health' && person) state.counts = countsFor(person)
    return JSON.stringify({
      at,
      kind,
      op,
      ...(id === undefined ? {} : { id }),
      ...(state ? { state } : {}),
    } satisfies Change)
  }
  return {
    begin(queue: EventQueue) {
      queue.put('hello', 'hello', () => JSON.stringify(hello))
      resync = () => queue.put('resync', 'resync', () => '{}')
      return subscribe((change) => {
        if (!kinds || kinds.includes(change.kind))
          queue.put(`${change.kind} ${change.target.type} ${change.target.id ?? ''}`, 'change', () => textOf(change))
      })
    },
    idle: 'ping',
    maxWaiting: MAX_WAITING,
    mayGoOn() {
      person = principals.reload(principal)
      const now = person && rightsOf(person)
      if (rights !== undefined && now !== undefined && now !== rights) resync?.()
      rights = now
      return person !== undefined
    },
  }
}

const rightsOf = ({ allow, deny, permissions, rooms }: UserPrincipal): string =>
  JSON.stringify([allow, deny, [...permissions], [...rooms].map(([id, held]) => [id, [...held]])])
