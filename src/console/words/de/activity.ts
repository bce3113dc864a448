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
    failed: 'fehlgeschlagen',
  },
  uploadStatus: {
    queued: 'wartet',
    retrying: 'wird erneut versucht',
    failed: 'fehlgeschlagen',
    succeeded: 'übertragen',
    cancelled: 'abgebrochen',
  },
  search: 'Aufnahmevorgänge suchen',
  status: 'Zustand',
  noCaptures: 'Kein Aufnahmevorgang passt dazu.',
  uploadFaults: [
    ['cache_path_', 'Die Datei ist nicht auf der Zentrale'],
    ['checksum_mismatch', 'Angekommen ist etwas anderes als gesendet'],
    ['controller_stopping', 'Die Zentrale wurde dabei beendet'],
    ['destination_', 'Das Ziel ist nicht eingerichtet oder aus'],
    ['s3_', 'Der Speicher lehnte ab oder antwortete nicht'],
    ['smb_config_', 'Die Freigabe ist nicht eingerichtet'],
    ['smb_', 'Die Freigabe lehnte ab oder antwortete nicht'],
    ['source_checksum_mismatch', 'Die Datei auf der Zentrale hat sich geändert: prüfen Sie den Datenträger'],
    ['source_unreadable', 'Die Datei auf der Zentrale ist nicht lesbar: prüfen Sie den Datenträger'],
    ['upload_interrupted', 'Die Zentrale wurde dabei neu gestartet'],
    ['upload_stalled', 'Es ging nicht weiter: die Verbindung ist zu langsam oder unterbrochen'],
    ['upload_timeout', 'Es dauerte zu lange'],
    ['verification_', 'Das Ziel ließ keine Prüfung zu'],
  ],
  noUploads: 'Keine Übertragung passt dazu.',
  created: 'Angelegt',
  take: 'Aufnahme',
  recorder: 'Rekorder',
  why: 'Warum er fehlschlug',
  retry: 'Wiederholen',
  retried: (n) => `${vorgaenge(n)} neu begonnen.`,
  stopped: (n) => `${vorgaenge(n)} zum Beenden aufgefordert.`,
  notDone: (n) => `${vorgaenge(n)} unverändert und weiter ausgewählt.`,
  stopCaptures: (n) => `${vorgaenge(n)} beenden`,
  stopExplained:
    'Was bisher aufgenommen wurde, bleibt erhalten. Was folgt, wird nicht aufgenommen; fortsetzen kann man keinen.',
  retryCaptures: (n) => `${counted(n, 'Aufnahme', 'Aufnahmen')} noch einmal aufnehmen`,
  retryExplained: (other) =>
    `Was hier von diesen Aufnahmen abgelegt ist, wird gelöscht; was der Rekorder noch von ihnen hat, wird nicht mehr angenommen. Zurückholen kann man sie nicht. „${other}“ auf der Seite einer Aufnahme erhält beides.`,
  deletes: (length) => `${length} werden gelöscht`,
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
      : `${succeeded} von ${counted(attempted, 'Übertragung', 'Übertragungen')} erfolgreich.`,
}
