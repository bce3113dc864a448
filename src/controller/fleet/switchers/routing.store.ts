import type { SwitcherMode, SwitcherModel } from '../../../wire/switchers.ts'
import type { Db } from '../../store/db.ts'
import type { Wiring } from './switchers.rules.ts'

/** A switcher as the router sees it. */
export interface Routed extends Wiring {
  displayName: string
  host: string
  id: string
  mode: Exclude<SwitcherMode, 'disabled'>
  model: SwitcherModel
  port: number
  unreachableEvent: string | null
}

const ACTIVE = `enabled = 1 AND mode <> 'disabled' AND EXISTS (SELECT 1 FROM switcher_outputs o WHERE o.switcher_id = s.id)`

/** The queries of the routing runner, and the only state it stores: the event of an unreachable switcher. */
export function routingStore(db: Db) {
  const active = db.stmt<object, Omit<Routed, 'inputs' | 'outputs'> & { inputs: string; outputs: string }>(
    `SELECT id, display_name AS displayName, host, port, model, mode, unreachable_event AS unreachableEvent,
       (SELECT json_group_array(json_object('input', input, 'roomId', room_id)) FROM switcher_inputs i WHERE i.switcher_id = s.id) AS inputs,
       (SELECT json_group_array(json_object('output', output, 'userId', user_id)) FROM switcher_outputs o WHERE o.switcher_id = s.id) AS outputs
     FROM switchers s WHERE ${ACTIVE} ORDER BY id`,
  )
  const idle = db.stmt<object, { event: string; id: string }>(
    `SELECT id, unreachable_event AS event FROM switchers s WHERE unreachable_event IS NOT NULL AND NOT (${ACTIVE})`,
  )
  const eventOf = db.stmt<{ id: string }, { event: string }>(
    `SELECT unreachable_event AS event FROM switchers WHERE id = @id AND unreachable_event IS NOT NULL`,
  )
  const mark = db.stmt<{ event: string | null; id: string }>(
    `UPDATE switchers SET unreachable_event = @event WHERE id = @id AND unreachable_event IS NOT @event`,
  )
  return {
    active: (): Routed[] =>
      active.all({}).map((row) => ({ ...row, inputs: JSON.parse(row.inputs), outputs: JSON.parse(row.outputs) })),
    /** Switchers that are no longer routed but still have an open event. */
    idle: (): { event: string; id: string }[] => idle.all({}),
    /** Its open event, if any. */
    eventOf: (id: string): string | undefined => eventOf.get({ id })?.event,
    /** False when the switcher was deleted, or already has this event. */
    mark: (id: string, event: string | null): boolean => mark.run({ event, id }) === 1,
  }
}
export type RoutingStore = ReturnType<typeof routingStore>
