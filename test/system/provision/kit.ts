// Setup files to begin with, and what of them can go wrong.
import type { SetupEntry, SetupFile } from '../../../src/wire/provision.ts'

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

/** Numbers that are the same in every run (mulberry32). */
export function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}
