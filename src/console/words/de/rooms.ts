import type { Words } from '../en.ts'
import { counted } from './counted.ts'

export const rooms: Words['rooms'] = {
  title: 'Räume',
  search: 'Räume suchen',
  next: 'Als Nächstes:',
  empty: 'Noch kein Raum, oder keiner, den Sie sehen dürfen.',
  floor: (number) => `Stockwerk ${number}`,
  recorders: (n) => (n === 0 ? 'kein Rekorder' : counted(n, 'Rekorder', 'Rekorder')),
  noMeters: 'Von diesem Rekorder kommen keine Pegel.',
  noRecorder: 'In diesem Raum steht kein Rekorder.',
  madeUp: 'erzeugt von einer Testquelle',
  listen: 'Mithören',
  listening: (name) => `Sie hören ${name}. Das steht im Protokoll.`,
  buffering: 'puffert',
  testTake: 'Probeaufnahme, 10 Sekunden',
  testTakeOf: (device) => `Probeaufnahme: ${device}`,
  otherRooms: 'Er überträgt auch Räume, die Sie nicht hören dürfen.',
  testName: 'Probeaufnahme',
  recent: 'Letzte Aufnahmen',
  noRecent: 'Noch keine Aufnahme.',
  upcoming: 'Demnächst',
  noUpcoming: 'Hier ist nichts geplant.',
  alerts: 'Meldungen',
}

export const wall: Words['wall'] = { title: 'Pegelwand' }
