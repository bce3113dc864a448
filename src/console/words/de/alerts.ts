const ALERTS: Record<string, string> = {
  'agent.audio_backend.unavailable': 'Das Tonsystem des Rekorders antwortet nicht',
  'agent.encoder.missing': 'Auf dem Rekorder fehlt ffmpeg: Aufnahmen können nicht kodiert werden',
  'agent.meter.capture_failed': 'Das Abnehmen des Tons ist fehlgeschlagen',
  'agent.meter.channel_correlation': 'Zwei Kanäle tragen denselben Ton',
  'agent.meter.clipping': 'Der Pegel übersteuert',
  'agent.meter.device_unavailable': 'Das Mikrofon oder Tongerät ist weg',
  'agent.meter.flatline': 'Auf keinem Kanal ist ein Signal',
  'agent.meter.low_signal': 'Das Signal ist sehr leise',
  'agent.meter.xrun': 'Der Rekorder war zu langsam und hat Ton verloren',
  'agent.system.clock_skew': 'Die Uhr des Rekorders geht falsch',
  'agent.system.cpu_pressure': 'Der Prozessor des Rekorders ist ausgelastet',
  'agent.system.disk_pressure': 'Die Platte des Rekorders wird voll',
  'controller.clock.jumped': 'Die Uhr der Zentrale ist gesprungen',
  'controller.recording.cache_file_failed': 'Eine Aufnahme konnte nicht abgelegt werden',
  'controller.recording.chunk_join_failed': 'Die Teile einer Aufnahme konnten nicht verbunden werden',
  'controller.recording.chunks_missing': 'Von einer Aufnahme fehlen Teile',
  'controller.recording.job_cancelled': 'Eine Aufnahme wurde abgebrochen',
  'controller.recording.job_failed': 'Eine Aufnahme ist fehlgeschlagen',
  'controller.recording.upload_queue_failed': 'Eine Übertragung ist fehlgeschlagen',
}

/** A kind of alert; one without a sentence by the words of its name. */
export const alert = (type: string): string =>
  ALERTS[type] ?? type.replace(/^(agent|controller|watchdog)\./, '').replace(/[._]/g, ' ')
