import type { Words } from '../en.ts'

export const status: Words['status'] = {
  alerting: 'auffällig',
  cached: 'gespeichert',
  completed: 'fertig',
  degraded: 'eingeschränkt',
  failed: 'fehlgeschlagen',
  offline: 'nicht verbunden',
  online: 'verbunden',
  partial: 'unvollständig',
  provisioning: 'wartet auf ersten Kontakt',
  queued: 'wartet',
  recording: 'nimmt auf',
  retired: 'außer Dienst',
  uploaded: 'übertragen',
}

export const stage: Words['stage'] = {
  capturing: 'nimmt auf',
  rendering: 'wird umgewandelt',
  enhancing: 'Rauschen wird gemindert',
  uploading: 'wird übertragen',
}

export const severity: Words['severity'] = { critical: 'kritisch', info: 'Hinweis', warning: 'Warnung' }

export const meter: Words['meter'] = {
  channel: (n) => `Eingang ${n}`,
  value: (name, db, speech) => `${name}, ${db} dB${speech ? ', Sprache' : ''}`,
  testTone: 'Testton',
  noData: 'keine Daten',
  clipped: 'übersteuert',
  forget: (channels) => `Übersteuert: ${channels}. Zurücksetzen`,
}

export const units: Words['units'] = { db: (value) => `${value} dB`, lufs: (value) => `${value} LUFS` }
