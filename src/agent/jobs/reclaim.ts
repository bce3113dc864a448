import * as fs from 'node:fs/promises'
import { sizeOf } from '../../kernel/durable.ts'
import { errorFields } from '../../kernel/log.ts'
import { run } from '../../system/host/run.ts'
import { wavFrameBytes } from '../audio/wav.rules.ts'
import { readWav } from '../audio/wav.ts'
import type { JobContext, OwnedJob } from './owned.ts'
import { neededFrom } from './parts.rules.ts'

/** A block of any file system here; what is given back are whole ones. */
const BLOCK = 65_536
/** Less is not worth a process. */
const WORTH = 4 * BLOCK

/**
 * Gives the disk back what the controller has of a take that is still captured: a hole in its file, below every frame
 * that any job of the capture may still read. `done`: bytes it has back; resolves with how many it has now. Best effort:
 * where the file system has no holes the take stays whole.
 */
export async function reclaimSpace(ctx: JobContext, job: OwnedJob, done: number): Promise<number> {
  if (keepsCopy(ctx, job)) return done
  try {
    const layout = await readWav(job.takeFile)
    const frame = layout && (await lowestNeeded(ctx, job))
    if (!layout || frame === undefined) return done
    const end = Math.floor((layout.dataOffset + frame * wavFrameBytes(layout)) / BLOCK) * BLOCK
    // The header stays.
    const from = Math.max(BLOCK, done)
    if (end - from < WORTH) return done
    const range = ['--offset', String(from), '--length', String(end - from)]
    const { code, stderr } = await run('fallocate', ['--punch-hole', ...range, job.takeFile], { env: ctx.childEnv })
    if (code !== 0) throw new Error(stderr.trim())
    return end
  } catch (e) {
    ctx.log.info('disk space not reclaimed', { jobId: job.id, ...errorFields(e) })
    return done
  }
}

/** A copy that is to stay on the recorder stays whole. */
function keepsCopy({ settings }: JobContext, { command }: OwnedJob): boolean {
  const policy = command.recorderCacheRetention
  return policy ? !policy.deleteAfterUpload : settings.keepUploaded
}

/** The lowest frame that a job with this file may still read; undefined when that cannot be told. */
async function lowestNeeded(ctx: JobContext, job: OwnedJob): Promise<number | undefined> {
  const { ino } = await fs.stat(job.takeFile)
  let lowest = neededFrom(job.state)
  for (const other of ctx.owned()) {
    if (other === job || !sameGroup(job, other)) continue
    // One that has not begun may be about to join; one without a name for the file will copy it at its end.
    if (other.state.status === 'claimed' || (await sizeOf(other.takeFile)) === undefined) return undefined
    if ((await fs.stat(other.takeFile)).ino === ino) lowest = Math.min(lowest, neededFrom(other.state))
  }
  return lowest
}

const sameGroup = (a: OwnedJob, b: OwnedJob): boolean =>
  a.command.captureGroupId !== undefined && a.command.captureGroupId === b.command.captureGroupId
