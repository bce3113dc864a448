// Room on the disk the agent writes to.
import { type DiskRoom, diskRoom } from '../../kernel/disk.ts'
import { run } from '../../system/host/run.ts'

export type Space = Pick<DiskRoom, 'freeBytes' | 'usedPercent'>

/** Undefined when unknown: without a figure nothing is refused. */
export type Gauge = () => Promise<Space | undefined>

const KIB = 1024

/** The kernel's own answer. */
export const statfsGauge =
  (path: string): Gauge =>
  // A missing directory is reported elsewhere.
  () =>
    diskRoom(path).catch(() => undefined)

/** The answer of a program with the output of `df -Pk`: second line, fourth column KiB free, fifth percent used. */
export const dfGauge =
  (command: string, path: string, env: NodeJS.ProcessEnv): Gauge =>
  async () => {
    const { code, stdout } = await run(command, ['-Pk', path], { env }).catch(() => ({ code: -1, stdout: '' }))
    const columns = stdout.trim().split('\n')[1]?.split(/\s+/) ?? []
    const [freeKib, usedPercent] = [Number(columns[3]), Number.parseFloat(columns[4] ?? '')]
    if (code !== 0 || !Number.isFinite(freeKib) || !Number.isFinite(usedPercent)) return undefined
    return { freeBytes: freeKib * KIB, usedPercent }
  }
