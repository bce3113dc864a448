export const status = {
  alerting: 'alerting',
  cached: 'stored',
  completed: 'completed',
  degraded: 'degraded',
  failed: 'failed',
  offline: 'offline',
  online: 'online',
  partial: 'partial',
  provisioning: 'awaiting first contact',
  queued: 'queued',
  recording: 'recording',
  retired: 'retired',
  uploaded: 'uploaded',
} as Record<string, string>

export const stage = {
  capturing: 'capturing',
  rendering: 'rendering',
  enhancing: 'suppressing noise',
  uploading: 'uploading',
} as Record<string, string>

export const severity = { critical: 'critical', info: 'info', warning: 'warning' } as Record<string, string>

export const meter = {
  channel: (n: number) => `Input ${n}`,
  value: (name: string, db: string, speech: boolean) => `${name}, ${db} dB${speech ? ', speech' : ''}`,
  noData: 'no data',
  testTone: 'test tone',
  clipped: 'clipped',
  forget: (channels: string) => `Clipped: ${channels}. Reset`,
}

export const units = { db: (value: string) => `${value} dB`, lufs: (value: string) => `${value} LUFS` }
