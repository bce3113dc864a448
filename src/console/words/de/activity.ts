import type { Words } from '../en.ts'
import { counted } from './counted.ts'

const vorgaenge = (n: number): string => counted(n, 'Aufnahmevorgang', 'Aufnahmevorgänge')

export const activity: Words['activity'] = {
  title: 'Vorgänge',
  captures: 'Aufnahmevorgänge',
  uploads: 'Übertragungen',
  jobStatus: {
    queued: 'wartet auf den Rekorder',
    running: 'läuft',
    stop_requested: 'wird beendet',
    cancelled: 'abgebrochen',
    completed: 'fertig',
    failed: 'gescheitert',
  },
  uploadStatus: {
    queued: 'wartet',
    retrying: 'wird wieder versucht',
    failed: 'gescheitert',
    succeeded: 'übertragen',
    cancelled: 'abgebrochen',
  },
  search: 'Aufnahmevorgänge suchen',
  status: 'Zustand',
  noCaptures: 'Kein Aufnahmevorgang passt dazu.',
  noUploads: 'Keine Übertragung passt dazu.',
  created: 'Angelegt',
  take: 'Aufnahme',
  recorder: 'Rekorder',
  progress: 'Fortschritt',
  why: 'Warum er scheiterte',
  retry: 'Noch einmal',
  retried: (n) => `${vorgaenge(n)} neu begonnen.`,
  stopped: (n) => `${vorgaenge(n)} zum Beenden aufgefordert.`,
  notDone: (n) => `${vorgaenge(n)} unverändert, weiter ausgewählt.`,
  parts: 'Teile',
  partsOf: (name) => `Teile von ${name}`,
  noParts: 'Noch ist kein Teil angekommen.',
  part: (n) => `Teil ${n}`,
  from: 'Ab',
  size: 'Größe',
  file: 'Datei',
  target: 'Ziel',
  attempts: 'Versuche',
  attemptsOf: (made, most) => `${made} von ${most}`,
  next: 'Nächster Versuch',
  runner: (last) => `Zuletzt wurde um ${last} übertragen.`,
  neverRan: 'Es wurde noch nichts übertragen.',
  run: 'Jetzt übertragen',
  ran: (attempted, succeeded) =>
    attempted === 0
      ? 'Es war nichts fällig.'
      : `${succeeded} von ${counted(attempted, 'Übertragung', 'Übertragungen')} gelungen.`,
}
