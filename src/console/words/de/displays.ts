import type { Words } from '../en.ts'

export const displays: Words['displays'] = {
  title: 'Anzeigen',
  add: 'Neuer Link für eine Anzeige',
  explained:
    'Ein Link öffnet die Pegelwand auf einem Bildschirm, an dem sich niemand anmeldet. Er zeigt Namen und Pegel, sonst nichts.',
  place: 'Was sie zeigt',
  once: 'Öffnen Sie diese Adresse auf dem Bildschirm. Sie erscheint nur einmal; wer sie hat, sieht die Pegel.',
  address: 'Adresse für den Bildschirm',
  unused: 'noch nicht benutzt',
  revoke: 'Entziehen',
  revokeTitle: (name) => `${name} entziehen`,
  revokeExplained: 'Ihre Bildschirme werden binnen einer Minute dunkel.',
  spent: 'Der Link dieser Anzeige wurde entzogen oder ist abgelaufen.',
}
