import * as z from 'zod'
import { DENOISERS } from './profiles.ts'
import { toldText } from './scalars.ts'

export const INTERFACE_BACKENDS = ['alsa', 'jack', 'pipewire', 'unknown'] as const

/** A network that takes noise out of speech. */
export const Denoiser = z.object({
  engine: z.enum(DENOISERS),
  /** Name and SHA-256 of the model file; a built-in network has its own name. */
  model: toldText(1, 160),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
})
export type Denoiser = z.infer<typeof Denoiser>

export const Runtime = z.object({
  architecture: toldText(1, 255).optional(),
  /** `skewSeconds` while it is off, ahead above zero; whether it follows a time server, absent when it cannot tell. */
  clock: z.object({ skewSeconds: z.number().optional(), synced: z.boolean().optional() }).optional().catch(undefined),
  /** Bytes that takes to come may have on its disk: what is free, and the copies that may go, less what running takes need. */
  disk: z
    .object({ roomBytes: z.number().int().min(0) })
    .optional()
    .catch(undefined),
  audioBackends: z.array(z.enum(INTERFACE_BACKENDS)).max(16).default([]),
  /** What the deep engine of its enhancement runs; absent when it has none that can be used. */
  denoiser: Denoiser.optional().catch(undefined),
  /** Whether the program that encodes takes (ffmpeg) is installed there. */
  encoder: z.enum(['missing', 'ready']).optional().catch(undefined),
  /** Pause between its heartbeats. */
  heartbeatSeconds: z.number().int().min(1).max(3600).optional().catch(undefined),
  kernelRelease: toldText(1, 255).optional(),
  osName: toldText(1, 255).optional(),
  uptimeSeconds: z.number().int().min(0).optional(),
})
export type Runtime = z.infer<typeof Runtime>
