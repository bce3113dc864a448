// The records of a take as bytes.
import { crc32 } from 'node:zlib'
import { type Mark, SECTOR, type Slot, slotAt } from './marks.rules.ts'

const MAGIC = Buffer.from('RTmk', 'latin1')
const BYTES = 52

export function markBytes({ base, boot, crc, frames, upMs, wallMs }: Mark): Buffer {
  const out = Buffer.alloc(BYTES)
  MAGIC.copy(out)
  out.writeUInt32LE(crc, 4)
  out.writeBigUInt64LE(BigInt(base), 8)
  out.writeBigUInt64LE(BigInt(frames), 16)
  out.writeDoubleLE(wallMs, 24)
  out.writeDoubleLE(upMs, 32)
  out.writeUInt32LE(boot, 40)
  out.writeUInt32LE(crc32(out.subarray(0, BYTES - 4)), BYTES - 4)
  return out
}

/** The record of a slot, from the first bytes of a file; undefined when there is none, or half of one. */
export function markIn(head: Buffer, slot: Slot): Mark | undefined {
  const at = head.subarray(slotAt(slot), slotAt(slot) + BYTES)
  if (at.length < BYTES || !at.subarray(0, MAGIC.length).equals(MAGIC)) return undefined
  if (at.readUInt32LE(BYTES - 4) !== crc32(at.subarray(0, BYTES - 4))) return undefined
  const [base, frames] = [Number(at.readBigUInt64LE(8)), Number(at.readBigUInt64LE(16))]
  if (base > frames) return undefined
  const moment = { boot: at.readUInt32LE(40), upMs: at.readDoubleLE(32), wallMs: at.readDoubleLE(24) }
  return { base, crc: at.readUInt32LE(4), frames, ...moment }
}

/** Whether no record was ever written to a file that begins so. */
export const neverMarked = (head: Buffer): boolean => head.subarray(SECTOR, slotAt(2) + BYTES).every((b) => b === 0)
