import type { DoctorReport, NodeDoctor } from '../../../wire/doctor.ts'
import type { Db } from '../../store/db.ts'

/** What the doctor found last on each recorder. */
export function doctorReports(db: Db) {
  const put = db.stmt<{ madeAt: string; nodeId: string; report: string }>(
    `INSERT INTO node_doctor_reports (node_id, made_at, report) VALUES (@nodeId, @madeAt, @report)
     ON CONFLICT (node_id) DO UPDATE SET made_at = excluded.made_at, report = excluded.report`,
  )
  const get = db.stmt<{ nodeId: string }, { madeAt: string; report: string }>(
    `SELECT made_at AS madeAt, report FROM node_doctor_reports WHERE node_id = @nodeId`,
  )
  return {
    get(nodeId: string): NodeDoctor | undefined {
      const row = get.get({ nodeId })
      return row && { ...(JSON.parse(row.report) as DoctorReport), madeAt: row.madeAt, nodeId }
    },
    put(nodeId: string, report: DoctorReport, now: string): NodeDoctor {
      put.run({ madeAt: now, nodeId, report: JSON.stringify(report) })
      return { ...report, madeAt: now, nodeId }
    },
  }
}
export type DoctorReports = ReturnType<typeof doctorReports>
