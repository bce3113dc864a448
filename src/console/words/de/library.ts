import type { Words } from '../en.ts'

export const library: Words['library'] = {
  title: 'Archiv',
  search: 'Aufnahmen suchen',
  takes: 'Aufnahmen',
  empty: 'Keine Aufnahme passt dazu.',
  play: 'Abspielen',
  notHere: 'Der Ton ist noch nicht angekommen.',
}

export const take: Words['take'] = {
  title: 'Aufnahme',
  recorded: 'Aufgenommen',
  length: 'Länge',
  recorder: 'Rekorder',
  status: 'Zustand',
  rendition: 'Was gespielt wird',
  enhanced: 'ohne Rauschen',
  raw: 'unbearbeitet',
  position: 'Stelle',
  waveform: 'Wellenform',
  gapAt: (at, seconds) => `${at}: ${seconds} fehlen`,
  loudness: 'Lautheit',
  denoiser: 'Rauschminderung',
  device: 'Tonweg',
  download: 'Herunterladen',
  failed: 'Warum sie scheiterte',
  tags: 'Schlagwörter',
  notes: 'Notizen',
}
