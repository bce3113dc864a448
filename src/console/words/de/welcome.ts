import type { Words } from '../en.ts'

export const welcome: Words['welcome'] = {
  title: 'Willkommen',
  step: (n, of) => `Schritt ${n} von ${of}`,
  password: 'Wählen Sie Ihr Passwort',
  passwordWhy: (email) => `Damit melden Sie sich von jedem Gerät als ${email} an.`,
  site: 'Geben Sie dem Standort einen Namen',
  room: 'Nehmen Sie den ersten Raum in Betrieb',
  roomWhy: 'Ein Rekorder und ein Name genügen.',
  roomThere: 'Es gibt schon einen Raum. Weitere können Sie jederzeit hinzufügen.',
  skip: 'Später',
  toDo: 'Noch zu tun',
  toToday: 'Zur Seite „Heute“',
  linkSpent:
    'Dieser Link wurde schon benutzt oder ist abgelaufen. Melden Sie sich mit dem Passwort an, oder erzeugen Sie auf der Zentrale einen neuen.',
}
