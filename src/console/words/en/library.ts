export const library = {
  title: 'Library',
  search: 'Search takes',
  takes: 'Takes',
  empty: 'No take matches.',
  play: 'Play',
  notHere: 'The sound has not arrived yet.',
}

export const take = {
  title: 'Take',
  recorded: 'Recorded',
  length: 'Length',
  recorder: 'Recorder',
  status: 'Status',
  rendition: 'What is played',
  enhanced: 'noise suppressed',
  raw: 'raw',
  position: 'Position',
  waveform: 'Waveform',
  gapAt: (at: string, seconds: string) => `${at}: ${seconds} missing`,
  loudness: 'Loudness',
  denoiser: 'Noise suppression',
  device: 'Capture',
  download: 'Download',
  failed: 'Why it failed',
  tags: 'Tags',
  notes: 'Notes',
}
