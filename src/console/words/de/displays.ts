import type { Words } from '../en.ts'

export const displays: Words['displays'] = {
  title: 'Anzeigen',
  add: 'Neuer Link für eine Anzeige',
  explained:
    'Ein Link öffnet die Pegelwand auf einer Anzeige, an der sich niemand anmeldet. Zu sehen sind Namen und Pegel, sonst nichts.',
  place: 'Was sie zeigt',
  someRooms: 'einzelne Räume',
  expires: 'Gültig bis (leer: unbegrenzt)',
  until: 'gültig bis',
  once: 'Öffnen Sie diese Adresse auf der Anzeige. Sie erscheint nur einmal; wer sie hat, sieht die Pegel.',
  address: 'Adresse für die Anzeige',
  unused: 'noch nicht benutzt',
  revoke: 'Widerrufen',
  revokeTitle: (name) => `${name} widerrufen`,
  revokeExplained: 'Die Anzeigen zeigen binnen einer Minute die Anmeldeseite.',
  spent:
    'Der Link dieser Anzeige wurde widerrufen oder ist abgelaufen. Wer die Zugänge verwaltet, kann einen neuen anlegen.',
}
