import type { Words } from '../en.ts'
import { counted } from './counted.ts'

export const nav: Words['nav'] = {
  label: 'Hauptmenü',
  today: 'Heute',
  rooms: 'Räume',
  library: 'Archiv',
  alerts: 'Meldungen',
  activity: 'Vorgänge',
  wall: 'Pegelwand',
  settings: 'Einstellungen',
  access: 'Zugang',
  audit: 'Protokoll',
  schedule: 'Plan',
  recorders: 'Rekorder',
  me: 'Mein Konto',
  more: 'Mehr',
  groups: { admin: 'Verwaltung', fleet: 'Geräte', work: 'Arbeit' },
}

export const common: Words['common'] = {
  loading: 'Wird geladen',
  retry: 'Erneut versuchen',
  showTyped: 'Passwort anzeigen',
  stop: 'Beenden',
  actions: 'Aktionen',
  cancel: 'Abbrechen',
  choose: 'Wählen Sie einen Eintrag aus der Liste.',
  close: 'Schließen',
  copied: 'Kopiert.',
  copy: 'Kopieren',
  copyByHand: 'Markieren Sie den Text und kopieren Sie ihn von Hand.',
  delete: 'Löschen',
  edit: 'Bearbeiten',
  all: 'alle',
  filters: 'Filter',
  clearFilters: 'Filter zurücksetzen',
  needs: (permission) => `Erfordert das Recht ${permission}.`,
  previous: 'Zurück',
  next: 'Weiter',
  noMatch: 'Keine Treffer.',
  none: 'keine Einträge',
  page: (from, to, total) => `${from} bis ${to} von ${total}`,
  remove: 'Entfernen',
  save: 'Speichern',
  saved: 'Gespeichert.',
  search: 'Suchen',
  select: 'Auswählen',
  selectAll: 'Alle auf dieser Seite auswählen',
  selected: (n) => `${n} ausgewählt`,
  selectRow: (name) => `${name} auswählen`,
  typeName: (name) => `Zur Bestätigung ${name} eingeben`,
  undo: 'Rückgängig',
  unset: 'nicht festgelegt',
}

export const login: Words['login'] = {
  title: 'Anmelden',
  email: 'E-Mail',
  password: 'Passwort',
  submit: 'Anmelden',
  wrong: 'E-Mail oder Passwort ist falsch.',
  provider: (kind) => `Über ${kind === 'azure_ad' ? 'Microsoft' : 'Ihre Organisation'} anmelden`,
  inNewTab: (deed) => `${deed}, in einem neuen Tab`,
  ended: 'Ihre Sitzung ist beendet. Melden Sie sich erneut an.',
  ends: (at) => `Ihre Sitzung endet um ${at}.`,
  stay: 'Angemeldet bleiben',
  signOut: 'Abmelden',
}

export const live: Words['live'] = {
  reload: 'Neu laden für die neue Version',
  unsent: 'Nicht verbunden: jetzt kann nichts gesendet werden.',
  lost: (since) => `Seit ${since} nicht verbunden. Was Sie sehen, kann veraltet sein.`,
}

export const failures: Words['failures'] = {
  denied: 'Das dürfen Sie nicht sehen',
  refused: 'Das dürfen Sie nicht tun',
  old: 'Das konnte nicht aktualisiert werden. Was Sie sehen, kann veraltet sein.',
  deniedBecause: (permission) => `Erfordert das Recht ${permission}. Vergeben kann es, wer die Zugänge verwaltet.`,
  gone: 'Das gibt es nicht mehr, oder Sie dürfen es nicht sehen.',
  offline: 'Die Zentrale ist nicht erreichbar.',
  slow: 'Keine rechtzeitige Antwort. Es kann trotzdem geschehen sein: prüfen Sie das, bevor Sie es erneut versuchen.',
  failed: 'Das hat nicht funktioniert',
  page: 'Auf dieser Seite ist ein Fehler aufgetreten.',
  tooOften: (seconds) => `Zu viele Anfragen. Versuchen Sie es in ${counted(seconds, 'Sekunde', 'Sekunden')} erneut.`,
}

export const keys: Words['keys'] = {
  title: 'Tastatur',
  key: 'Taste',
  what: 'Funktion',
  single: 'Tastenkürzel mit einer Taste (? und /) einschalten',
  named: {
    Space: 'Leertaste',
    'Page Up': 'Bild auf',
    'Page Down': 'Bild ab',
    'Shift ↑': 'Umschalt ↑',
    'Shift ↓': 'Umschalt ↓',
  },
  does: {
    help: 'Diese Hilfe',
    search: 'Zum Suchfeld',
    rows: 'In einer Liste: zwischen Zeilen wechseln',
    play: 'Im Player: abspielen und anhalten',
    jump: 'Im Player: 5, 10 oder 30 Sekunden vor oder zurück',
    lift: 'Auf einer Karte des Plans: anheben und ablegen',
    carry: 'Eine angehobene Karte: Tag oder Zeit ändern',
    hour: 'Eine angehobene Karte: um eine Stunde verschieben',
    back: 'Verschieben abbrechen; einen Dialog schließen',
  },
}

export const dock: Words['dock'] = {
  ended: (name) => `Das Mithören bei ${name} ist zu Ende: Der Rekorder sendet keinen Ton mehr.`,
  enhanced: 'Entrauscht, wo verfügbar',
  failed: (name) => `Mithören bei ${name} ist nicht möglich.`,
  level: (db) => `Pegel ${db} dBFS`,
  limit: (name) => `Das Mithören bei ${name} endete nach 30 Minuten. Drücken Sie „Mithören“, um fortzufahren.`,
}

export const player: Words['player'] = {
  drawing: 'Die Wellenform wird gezeichnet.',
  undrawn: 'Die Wellenform konnte nicht gelesen werden.',
}

export const screen: Words['screen'] = {
  empty: 'Dieser Link zeigt keine Rekorder.',
  more: (n) =>
    `${counted(n, 'weiterer Rekorder fehlt', 'weitere Rekorder fehlen')} hier: Erstellen Sie einen Link für weniger Räume.`,
}
