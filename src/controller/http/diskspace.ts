import { diskRoom } from '../../kernel/disk.ts'
import { Fail } from '../../kernel/fail.ts'

const MIB = 2 ** 20
/** The disk is checked again after so many bytes, of all senders together. */
const CHECK_INTERVAL_BYTES = 8 * MIB

/**
 * Bytes that takes leave free on their disk: with less the database could not even record a deletion. On a small disk a
 * twentieth of it, so that it can be used at all.
 */
export const reservedBytes = (diskBytes: number): number => Math.min(64 * MIB, diskBytes / 20)

/** The space left for takes on their disk. */
export class DiskSpace {
  private readonly dir: string
  private granted = 0

  constructor(dir: string) {
    this.dir = dir
  }

  /** Bytes that takes may still have; undefined where the file system does not tell. */
  async free(): Promise<number | undefined> {
    const room = await diskRoom(this.dir)
    return room && room.freeBytes - reservedBytes(room.sizeBytes)
  }

  /**
   * @throws Fail 507 `cache_write_failed` (docs/contract/uploads.md: Order of checks) when so many bytes do not fit beside
   * the reserve.
   */
  async check(bytes: number): Promise<void> {
    if (bytes <= 0) return
    const free = await this.free()
    if (free !== undefined && free < bytes)
      throw new Fail(
        507,
        'cache_write_failed',
        `The disk of the controller has no room for ${bytes} bytes: free some, or add a larger disk`,
        { headers: { 'retry-after': '60' } },
      )
  }

  /** Called before so many bytes are written. @throws Fail 507 */
  async reserve(bytes: number): Promise<void> {
    this.granted -= bytes
    if (this.granted >= 0) return
    await this.check(CHECK_INTERVAL_BYTES)
    this.granted = CHECK_INTERVAL_BYTES
  }
}
