import { askWorker } from '../../kernel/assets.ts'
import type { Pulse } from './pulse.store.ts'

export interface Examining {
  /** Where the thread finds the SQLite addon of this process; undefined outside of the executable. */
  addonPath: string | undefined
  file: string
}

export interface Examined {
  /** What SQLite finds wrong. */
  fault?: string
  pulse?: Pulse
  /** Takes whose audio no bucket has: it lies on disks of boxes alone, that of the one that stored it and where it was copied to. */
  recordingsWithoutRemoteCopy?: number
  schema: number
}

/** Checks a database file that nobody else uses, and leaves a single file. @throws the thread's error */
export const examine = (examining: Examining): Promise<Examined> =>
  askWorker('controller/succession/examine', examining)
