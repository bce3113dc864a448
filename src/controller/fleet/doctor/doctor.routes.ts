import { conflict, Fail } from '../../../kernel/fail.ts'
import { type NodeDoctor, NodeDoctorQuery } from '../../../wire/doctor.ts'
import { type AnyRoute, flow } from '../../http/route.ts'
import { type Notifier, topics } from '../../scheduler/notifier.ts'
import type { NodeStore } from '../nodes/nodes.store.ts'
import { mustBeInUse, SILENT } from '../nodes/status.rules.ts'
import { CALL_SECONDS, type DoctorCalls } from './calls.ts'
import type { DoctorReports } from './reports.store.ts'

interface Parts {
  calls: DoctorCalls
  nodes: NodeStore
  notifier: Notifier
  reports: DoctorReports
}

const late = (): Fail =>
  new Fail(
    504,
    'doctor_no_answer',
    `The recorder did not send a report within ${CALL_SECONDS} s: it may have lost its network just now, or be too old to know the question. On the recorder: sudo roomtone doctor`,
  )

/** The doctor of a recorder, asked through the configuration it waits for (docs/contract/agent.md: The doctor). */
export const doctorRoutes = ({ calls, nodes, notifier, reports }: Parts): AnyRoute[] => [
  flow({
    method: 'GET',
    path: '/nodes/:id/doctor',
    auth: 'user',
    permission: 'node:manage',
    whole: true,
    action: 'nodes.doctor.read',
    target: (p) => ({ type: 'node', id: p.id }),
    query: NodeDoctorQuery,
    perMinute: 30,
    run: async ({ now, params: { id }, query: { last }, request }): Promise<{ data: NodeDoctor | null }> => {
      const node = nodes.get(id, now)
      if (last) return { data: reports.get(id) ?? null }
      mustBeInUse(node)
      if (SILENT.has(node.status))
        throw conflict(
          `node_${node.status}`,
          'The recorder is not connected, so that it cannot be asked. On the recorder itself: sudo roomtone doctor',
        )
      const call = calls.ask(id)
      const report = await notifier.until(topics.doctor(id), CALL_SECONDS, request.gone(), () => call.report)
      if (!report) throw late()
      return { data: report }
    },
  }),
]
