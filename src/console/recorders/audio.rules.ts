import type { AudioDefaults } from '../../wire/nodes.ts'

/** What a recorder captures with that the form has no field for: defaults are replaced whole, and this must stay. */
export const unshown = ({
  captureBackend: _backend,
  captureChannels: _channels,
  captureDevice: _device,
  captureSampleRate: _rate,
  ...rest
}: AudioDefaults): AudioDefaults => rest
