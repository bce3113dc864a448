import { conflict, invalid } from '../../kernel/fail.ts'
import { DOCTOR_REPORT_BYTES, NodeDoctorReport } from '../../wire/doctor.ts'
import type { Events } from '../events.ts'
import type { FleetApi } from '../fleet/api.ts'
import { type AnyRoute, route } from '../http/route.ts'

interface Parts {
  doctor: FleetApi['doctor']
  events: Events
}

/** What the doctor found on a recorder, for the request of its configuration (docs/contract/agent.md: The doctor). */
export const doctorAgentRoutes = ({ doctor: { calls, reports }, events }: Parts): AnyRoute[] => [
  route({
    method: 'POST',
    path: '/nodes/:id/doctor-report',
    auth: 'node',
    permission: 'node:control',
    target: (p) => ({ type: 'node', id: p.id }),
    action: 'nodes.doctor.report',
    body: NodeDoctorReport,
    bodyLimit: DOCTOR_REPORT_BYTES,
    perMinute: 12,
    status: 202,
    run: ({ body: { report, requestId }, now, params: { id } }) => {
      if (report.role !== 'agent')
        throw invalid('Invalid doctor report', ['report', 'role'], 'expected the report of a recorder')
      if (!calls.awaits(id, requestId))
        throw conflict(
          'doctor_not_asked',
          'This report was not asked for: it came too late, or has already been received',
        )
      reports.put(id, report, now)
      events.emit('doctor.reported', { nodeId: id, requestId })
      const failing = report.checks.filter(({ status }) => status === 'fail').map((check) => check.id)
      return { data: { accepted: true }, details: { failing, ok: report.ok } }
    },
  }),
]
