import type { HealthEvent, HealthMove } from '../../wire/health.ts'

const OFFERED: Record<HealthEvent['status'], readonly HealthMove[]> = {
  acknowledged: ['suppress', 'resolve', 'reopen'],
  open: ['acknowledge', 'suppress', 'resolve'],
  resolved: ['reopen'],
  suppressed: ['resolve', 'reopen'],
}

/** The moves that change something (docs/contract/health.md: States of an event). */
export const offered = ({ status }: Pick<HealthEvent, 'status'>): readonly HealthMove[] => OFFERED[status]
