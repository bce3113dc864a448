import { counted } from './counted.ts'

export const rooms = {
  title: 'Rooms',
  search: 'Search rooms',
  next: 'Next:',
  empty: 'No room yet, or none you may see.',
  floor: (number: string) => `floor ${number}`,
  recorders: (n: number) => (n === 0 ? 'no recorder' : counted(n, 'recorder', 'recorders')),
  noMeters: 'No levels arrive from this recorder.',
  noRecorder: 'No recorder stands in this room.',
  madeUp: 'made up by a test source',
  listen: 'Listen',
  listening: (name: string) => `You hear ${name}. This is noted in the audit log.`,
  buffering: 'buffering',
  testTake: 'Test take, 10 seconds',
  testTakeOf: (device: string) => `Test take: ${device}`,
  otherRooms: 'It carries rooms you may not hear.',
  testName: 'Test take',
  recent: 'Recent takes',
  noRecent: 'No take yet.',
  upcoming: 'Coming up',
  noUpcoming: 'Nothing is scheduled here.',
  alerts: 'Alerts',
}

export const wall = { title: 'Wall' }
