import type { Denoiser } from '../../wire/runtime.ts'

/** Which network the deep engine runs. Plain data: it may be sent to a thread. */
export interface DeepModel {
  /** Absent: the one embedded in this build. */
  file?: string
  /** Its name, for renditions and people. */
  name: string
  /** Hex, of the whole file; absent: not checked. */
  sha256?: string
}

/** Its message says what is wrong with a model. */
export class ModelUnusable extends Error {}

/** Described in models/README.md. */
export const EMBEDDED_MODEL: DeepModel = {
  name: 'small-deep-denoiser',
  sha256: 'f6d0b019d76fe3538631727809925346827f238da8622a35172a87a6202e593e',
}

/** What is known of a model without reading it. */
export const described = ({ name, sha256 }: DeepModel): Denoiser => ({
  engine: 'deepfilternet3',
  model: name,
  ...(sha256 && { sha256 }),
})

/** The model of the settings, else the embedded one. Does not read the file. */
export function modelOf(file: string | undefined, sha256: string | undefined): DeepModel {
  if (file === undefined) return EMBEDDED_MODEL
  const name = (file.split('/').at(-1) ?? file).replace(/\.onnx$/, '').slice(0, 160)
  return { file, name, ...(sha256 ? { sha256: sha256.toLowerCase() } : {}) }
}
