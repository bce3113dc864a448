import type { AudioDefaults, CaptureBackend } from '../../wire/nodes.ts'

export const BACKENDS: readonly CaptureBackend[] = ['alsa', 'jack', 'pipewire']

/** What a recorder captures with that the form has no field for: defaults are replaced whole, and this must stay. */
export const unshown = ({
  captureBackend: _backend,
  captureChannels: _channels,
  captureDevice: _device,
  captureSampleRate: _rate,
  ...rest
}: AudioDefaults): AudioDefaults => rest
