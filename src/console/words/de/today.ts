import type { Words } from '../en.ts'

export const today: Words['today'] = {
  title: 'Heute',
  record: 'Aufnehmen',
  recordOf: (device) => `Aufnehmen: ${device}`,
  minutes: 'Länge, Minuten (leer: wie der Rekorder eingestellt ist)',
  noRoom: 'Sie sehen noch keinen Raum. Wer die Zugänge verwaltet, kann Ihnen Räume oder Standorte geben.',
  now: 'Läuft gerade',
  nothingNow: 'Es wird nichts aufgenommen.',
  elapsed: (time) => `bisher ${time}`,
  onePlace: (time) => `${time} Ton gibt es nur auf dem Rekorder`,
  onePlaceExplained: 'Er wird am Ende der Aufnahme in die Zentrale kopiert, oder Stück für Stück.',
  risk: 'Gefährdet',
  risks: {
    channels_missing: 'Zu wenig Kanäle',
    clash: 'Überschneidung',
    device_missing: 'Mikrofon fehlt',
    recorder_missing: 'Kein Rekorder',
    recorder_offline: 'Nicht verbunden',
  },
  mend: {
    channels_missing: 'Kanäle wählen',
    clash: 'Eine der beiden verlegen',
    device_missing: 'Zum Rekorder',
    recorder_missing: 'Rekorder wählen',
    recorder_offline: 'Zum Rekorder',
  },
  nothingRisk: 'Keine Meldungen; jeder Rekorder, der gebraucht wird, ist bereit.',
  certificate: (date) => `Das Zertifikat dieses Standorts endet am ${date}`,
  next: 'Die nächsten 24 Stunden',
  nothingNext: 'Es ist nichts geplant.',
}
