import type { HealthMove, HealthStatus } from '../../../wire/health.ts'
import { counted } from './counted.ts'

const statuses: Record<HealthStatus, string> = {
  open: 'open',
  acknowledged: 'acknowledged',
  suppressed: 'suppressed',
  resolved: 'resolved',
}

const moves: Record<HealthMove, string> = {
  acknowledge: 'Acknowledge',
  suppress: 'Suppress',
  resolve: 'Resolve',
  reopen: 'Reopen',
}

const moved: Record<HealthMove, (n: number) => string> = {
  acknowledge: (n) => `${counted(n, 'alert', 'alerts')} acknowledged.`,
  suppress: (n) => `${counted(n, 'alert', 'alerts')} suppressed.`,
  resolve: (n) => `${counted(n, 'alert', 'alerts')} resolved.`,
  reopen: (n) => `${counted(n, 'alert', 'alerts')} opened again.`,
}

export const alerts = {
  title: 'Alerts',
  empty: 'No alerts match.',
  search: 'Search alerts',
  severity: 'Severity',
  status: 'Status',
  statuses,
  moves,
  moved,
  notMoved: (n: number) =>
    counted(n, 'alert was not changed and stays selected.', 'alerts were not changed and stay selected.'),
  numbers: (open: number, critical: number) =>
    `${counted(open, 'alert', 'alerts')} open, ${critical.toLocaleString('en')} critical`,
  what: 'What',
  since: 'Since',
  where: 'Where',
  resolvedAt: 'Resolved',
  by: (name: string) => `by ${name}`,
  byLink: (channel: string) => `by the link in a message to the channel ${channel}`,
  byItself: 'by itself',
  acknowledgedAt: 'Acknowledged',
  suppressedUntil: 'Suppressed until',
  untilReopened: 'until somebody reopens it',
  until: 'Until (empty: until somebody reopens it)',
  note: 'Note',
  details: 'Details',
  recorder: 'Recorder',
  openTake: 'Open the take',
  openSchedule: 'Open the schedule',
  openRoom: 'Open the room',
}
