import { setTimeout as sleep } from 'node:timers/promises'
import { saysChannels } from '../render/plan.rules.ts'
import { assignedMap } from './maps.rules.ts'
import type { JobContext, OwnedJob } from './owned.ts'

/** A slow controller must not delay the take; the lease is longer than this. */
const PATIENCE_MS = 5000

/**
 * Looks up a job's channel map if its command does not mention channels: other controllers leave that to the agent. Without
 * an answer the take has no map.
 */
export async function withAssignedMap(ctx: JobContext, job: OwnedJob): Promise<void> {
  if (saysChannels(job.command)) return
  const late = new AbortController()
  try {
    const answers = await Promise.race([
      ctx.link.channelMapAssignments(),
      sleep(PATIENCE_MS, undefined, { signal: late.signal }).then(() => {
        throw new Error(`no answer within ${PATIENCE_MS / 1000} s`)
      }),
    ])
    const channelMap = assignedMap(answers, job.state.job)
    if (channelMap) await job.advance({ type: 'mapped', channelMap })
  } catch (e) {
    job.tell('warning', 'channel_map_lookup_failed', { error: String(e) })
  } finally {
    late.abort()
  }
}
