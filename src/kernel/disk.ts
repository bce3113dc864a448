// Room on a disk, and what is meant by it.
import { statfs } from 'node:fs/promises'

export interface DiskRoom {
  /** Bytes this process may still write: without what is reserved for root. */
  freeBytes: number
  /** Bytes of the whole file system, with what is reserved for root. */
  sizeBytes: number
  /** 0..100: used, of what this process may use, as `df` counts: what is reserved for root is no part of it. */
  usedPercent: number
}

/**
 * The kernel's own answer; undefined where a file system does not tell its size, as some in the network. Throws errors of the
 * system, for example for a directory that is not there.
 */
export async function diskRoom(dir: string): Promise<DiskRoom | undefined> {
  const { bavail, bfree, blocks, bsize } = await statfs(dir)
  if (blocks === 0) return undefined
  const used = blocks - bfree
  return {
    freeBytes: bavail * bsize,
    sizeBytes: blocks * bsize,
    usedPercent: used + bavail === 0 ? 100 : (100 * used) / (used + bavail),
  }
}

/**
 * Free, of what this process may use, in per cent: the one figure that doctor and reports tell. In tenths below 10, in whole ones
 * above, and never rounded up: it would contradict the limit that it is held against.
 */
export function freePercent({ usedPercent }: Pick<DiskRoom, 'usedPercent'>): number {
  const free = 100 - usedPercent
  // A hair is added: 100 - 95.9 is 4.0999..., and 4.1 is meant.
  return free < 10 ? Math.floor(free * 10 + 1e-9) / 10 : Math.floor(free + 1e-9)
}
