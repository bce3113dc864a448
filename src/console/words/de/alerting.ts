import type { Words } from '../en.ts'
import { counted } from './counted.ts'

const meldungen = (n: number): string => counted(n, 'Meldung', 'Meldungen')

export const alerts: Words['alerts'] = {
  title: 'Meldungen',
  empty: 'Keine passenden Meldungen.',
  search: 'Meldungen suchen',
  severity: 'Schweregrad',
  status: 'Zustand',
  statuses: {
    open: 'offen',
    acknowledged: 'zur Kenntnis genommen',
    suppressed: 'stummgeschaltet',
    resolved: 'erledigt',
  },
  moves: {
    acknowledge: 'Zur Kenntnis nehmen',
    suppress: 'Stummschalten',
    resolve: 'Erledigen',
    reopen: 'Wieder öffnen',
  },
  moved: {
    acknowledge: (n) => `${meldungen(n)} zur Kenntnis genommen.`,
    suppress: (n) => `${meldungen(n)} stummgeschaltet.`,
    resolve: (n) => `${meldungen(n)} erledigt.`,
    reopen: (n) => `${meldungen(n)} wieder geöffnet.`,
  },
  notMoved: (n) => `${meldungen(n)} unverändert und weiter ausgewählt.`,
  numbers: (open, critical) => `${meldungen(open)} offen, ${critical.toLocaleString('de')} kritisch`,
  what: 'Was',
  since: 'Seit',
  where: 'Wo',
  resolvedAt: 'Erledigt',
  by: (name) => `von ${name}`,
  byLink: (channel) => `über den Link in einer Meldung an den Kanal ${channel}`,
  byItself: 'von selbst',
  acknowledgedAt: 'Zur Kenntnis genommen',
  suppressedUntil: 'Stumm bis',
  untilReopened: 'bis jemand sie wieder öffnet',
  until: 'Bis (leer: bis jemand sie wieder öffnet)',
  note: 'Notiz',
  details: 'Einzelheiten',
  recorder: 'Rekorder',
  openTake: 'Zur Aufnahme',
  openSchedule: 'Zum Plan',
  openRoom: 'Zum Raum',
}
