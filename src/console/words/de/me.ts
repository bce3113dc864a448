import type { Words } from '../en.ts'

export const me: Words['me'] = {
  title: 'Mein Konto',
  language: 'Sprache',
  zone: 'Zeitzone',
  zones: { device: (name) => `Dieses Gerät: ${name}`, site: (name) => `Der Standort: ${name}` },
  theme: 'Farben',
  themes: { light: 'hell', dark: 'dunkel', system: 'wie das System' },
  password: 'Passwort ändern',
  current: 'Aktuelles Passwort',
  next: 'Neues Passwort',
  change: 'Passwort ändern',
  elsewhere: 'Sie melden sich über Ihre Organisation an. Ändern Sie Ihr Passwort dort.',
  changed: 'Das Passwort ist geändert. Ihre anderen Sitzungen sind beendet.',
  sessions: 'Angemeldete Sitzungen',
  kinds: { bearer: 'Programm', cookie: 'Browser' },
  here: 'diese Sitzung',
  end: 'Beenden',
  endOthers: 'Alle anderen Sitzungen beenden',
  ended: 'Sitzung beendet.',
  roles: 'Rollen',
  noRoles: 'keine: Ihre Rechte gelten Raum für Raum',
}
