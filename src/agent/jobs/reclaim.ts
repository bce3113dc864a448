import * as fs from 'node:fs/promises'
import { sizeOf } from '../../kernel/durable.ts'
import { errorFields } from '../../kernel/log.ts'
import { run } from '../../system/host/run.ts'
import { wavFrameBytes } from '../audio/wav.rules.ts'
import { readWav } from '../audio/wav.ts'
import type { JobContext, OwnedJob } from './owned.ts'
import { neededFrom } from './parts.rules.ts'

/** A multiple of any file system's block size: only whole blocks can be given back. */
const BLOCK = 65_536
/** Less than this is not worth starting a process. */
const WORTH = 4 * BLOCK

/**
 * Frees the disk space of a take's beginning while it is still captured, by punching a hole into its file below every frame
 * that any job of the capture may still read. `done`: bytes freed so far; resolves with the new figure. Best effort: on a
 * file system without holes the take stays whole.
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

/** A copy that stays on the recorder must stay whole. */
function keepsCopy({ settings }: JobContext, { command }: OwnedJob): boolean {
  if (command.custody !== undefined) return true
  const policy = command.recorderCacheRetention
  return policy ? !policy.deleteAfterUpload : settings.keepUploaded
}

/** The lowest frame that any job sharing this file may still read; undefined when unknown, or when a copy of it is kept. */
async function lowestNeeded(ctx: JobContext, job: OwnedJob): Promise<number | undefined> {
  const { ino, nlink } = await fs.stat(job.takeFile)
  let lowest = neededFrom(job.state)
  let links = 1
  for (const other of ctx.owned()) {
    if (other === job || !sameGroup(job, other)) continue
    // A job that has not begun may be about to join; one without its own link will copy the file at its end.
    if (other.state.status === 'claimed' || (await sizeOf(other.takeFile)) === undefined) return undefined
    if ((await fs.stat(other.takeFile)).ino !== ino) continue
    if (keepsCopy(ctx, other)) return undefined
    links++
    lowest = Math.min(lowest, neededFrom(other.state))
  }
  // What a delivered member left as its copy has a name that no job owns.
  return links === nlink ? lowest : undefined
}

const sameGroup = (a: OwnedJob, b: OwnedJob): boolean =>
  a.command.captureGroupId !== undefined && a.command.captureGroupId === b.command.captureGroupId
