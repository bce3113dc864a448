import type { Words } from '../en.ts'

export const me: Words['me'] = {
  title: 'Mein Konto',
  language: 'Sprache',
  theme: 'Farben',
  themes: { light: 'hell', dark: 'dunkel', system: 'wie das System' },
  password: 'Passwort ändern',
  current: 'Jetziges Passwort',
  next: 'Neues Passwort',
  change: 'Passwort ändern',
  changed: 'Das Passwort ist geändert. Ihre anderen Sitzungen sind beendet.',
  sessions: 'Angemeldet',
  kinds: { bearer: 'Programm', cookie: 'Browser' },
  here: 'diese',
  end: 'Beenden',
  endOthers: 'Alle anderen beenden',
  ended: 'Beendet.',
  roles: 'Rollen',
  noRoles: 'keine: Ihre Rechte gelten Raum für Raum',
}
