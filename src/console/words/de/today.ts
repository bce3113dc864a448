import type { Words } from '../en.ts'

export const today: Words['today'] = {
  title: 'Heute',
  record: 'Aufnehmen',
  minutes: 'Länge, Minuten (leer: wie der Rekorder eingestellt ist)',
  now: 'Läuft gerade',
  nothingNow: 'Es wird nichts aufgenommen.',
  elapsed: (time) => `bisher ${time}`,
  onePlace: (time) => `${time} Ton gibt es nur auf dem Rekorder`,
  onePlaceExplained: 'Er wird am Ende der Aufnahme in die Zentrale kopiert, oder Stück für Stück.',
  risk: 'Gefährdet',
  nothingRisk: 'Keine Meldungen, jeder Rekorder ist verbunden.',
  certificate: (date) => `Das Zertifikat dieses Standorts endet am ${date}`,
  next: 'Die nächsten 24 Stunden',
  nothingNext: 'Es ist nichts geplant.',
}
