const ALERTS: Record<string, string> = {
  'agent.audio_backend.unavailable': 'The sound system of the recorder does not answer',
  'agent.encoder.missing': 'ffmpeg is missing on the recorder: takes cannot be encoded',
  'agent.meter.capture_failed': 'Capturing failed',
  'agent.meter.channel_correlation': 'Two channels carry the same sound',
  'agent.meter.clipping': 'The level clips',
  'agent.meter.device_unavailable': 'The microphone or sound device is gone',
  'agent.meter.flatline': 'No signal on any channel',
  'agent.meter.low_signal': 'The signal is very low',
  'agent.meter.xrun': 'The recorder lost samples: it was too slow',
  'agent.system.clock_skew': 'The clock of the recorder is wrong',
  'agent.system.cpu_pressure': 'The processor of the recorder is busy',
  'agent.system.disk_pressure': 'The disk of the recorder is filling up',
  'controller.clock.jumped': 'The clock of the controller jumped',
  'controller.recording.cache_file_failed': 'A take could not be stored',
  'controller.recording.chunk_join_failed': 'The parts of a take could not be joined',
  'controller.recording.chunks_missing': 'Parts of a take are missing',
  'controller.recording.job_cancelled': 'A recording was cancelled',
  'controller.recording.job_failed': 'A recording failed',
  'controller.recording.upload_queue_failed': 'An upload failed',
}

/** A kind of alert; one without a sentence by the words of its name. */
export const alert = (type: string): string =>
  ALERTS[type] ?? type.replace(/^(agent|controller|watchdog)\./, '').replace(/[._]/g, ' ')
