// Setup files to begin with, and what of them can go wrong.

import type { SetupEntry, SetupFile } from '../../../src/wire/provision.ts'
import { mulberry32 } from '../../kit/random.ts'

/** A token that is not like another one. */
export const tokenOf = (n: number): string => `svc_bs_${String(n).padStart(43, 'b')}`

export const entryOf = (n: number, more: Partial<SetupEntry> = {}): SetupEntry => ({
  alias: `Room ${n}`,
  bootstrapToken: tokenOf(n),
  expiresAt: '2026-03-03T09:00:00.000Z',
  nodeId: `node_${n}`,
  room: `R${n}`,
  site: 'North',
  ...more,
})

export const fileOf = (nodes: SetupEntry[], more: Partial<SetupFile> = {}): SetupFile => ({
  allowInsecure: false,
  controllerUrl: 'https://controller.example',
  nodes,
  replace: false,
  version: 1,
  writeBack: false,
  ...more,
})

export const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))

/** Whole numbers that are the same in every run. */
export function dice(seed: number): (below: number) => number {
  const next = mulberry32(seed)
  return (below) => (next() * 2 ** 32) % below
}
