import { once } from 'node:events'
import { startWorker } from '../../kernel/assets.ts'
import type { Pulse } from './pulse.store.ts'

export interface Examining {
  /** Where the thread finds the SQLite addon of this process; undefined outside of the executable. */
  addonPath: string | undefined
  file: string
}

export interface Examined {
  /** Takes whose audio no bucket has: it lies on disks of boxes alone, that of the one that stored it and where it was copied to. */
  aloneThere?: number
  /** What SQLite finds wrong. */
  fault?: string
  pulse?: Pulse
  schema: number
}

/** Checks a database file that nobody else uses, and leaves a single file. @throws the thread's error */
export async function examine(examining: Examining): Promise<Examined> {
  const worker = startWorker('controller/succession/examine', { workerData: examining })
  const failed = once(worker, 'error').then(([e]) => {
    throw e
  })
  try {
    const [found] = (await Promise.race([once(worker, 'message'), failed])) as [Examined]
    return found
  } finally {
    failed.catch(() => undefined)
    await worker.terminate()
  }
}
