import * as fs from 'node:fs'
import { crc32 } from 'node:zlib'

/** A number that is another one after every start of the machine. */
export function bootNumber(): number {
  try {
    return crc32(fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))
  } catch {
    // No such file: every process counts as a start of its own.
    return crc32(`${process.pid} ${performance.timeOrigin}`)
  }
}

/** Milliseconds since the machine was started, the same for all its processes; never jumps with the wall clock. */
export const upMs = (): number => Number(process.hrtime.bigint()) / 1e6
