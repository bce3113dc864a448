import type { InterfaceInput } from '../../wire/nodes.ts'
import type { AssignmentStore } from './channels/assignments.store.ts'
import type { DoctorCalls } from './doctor/calls.ts'
import type { DoctorReports } from './doctor/reports.store.ts'
import type { Reconciliation } from './nodes/interfaces.store.ts'
import type { NodeStore } from './nodes/nodes.store.ts'
import type { MaterialStores } from './onboarding/material.store.ts'
import type { DetachStore } from './rooms/detach.store.ts'
import type { RoomStore } from './rooms/rooms.store.ts'
import type { RosterStore } from './rooms/roster.store.ts'

/** What other modules may call of the fleet. */
export interface FleetApi {
  assignments: AssignmentStore
  detach: DetachStore
  /** Recorders that are asked what is wrong with them, and what they answered. */
  doctor: { calls: DoctorCalls; reports: DoctorReports }
  nodes: NodeStore
  /** Stores the devices a recorder reports. */
  reconcile: (nodeId: string, reported: readonly InterfaceInput[]) => Reconciliation
  /** Credentials and keys of nodes, for lifecycle actions. */
  onboarding: MaterialStores
  rooms: RoomStore
  rosters: RosterStore
}
