import { askWorker } from '../../kernel/assets.ts'

export interface Checkpointing {
  /** Where the thread finds the SQLite addon of this process; undefined outside of the executable. */
  addonPath: string | undefined
  file: string
}

/** Pages of the write-ahead log (WAL), and how many of them are in the database now. */
export interface Checkpointed {
  checkpointed: number
  log: number
}

/**
 * Checkpoints the write-ahead log (WAL), in a thread and without waiting for anybody: a gigabyte takes seconds, and who
 * writes meanwhile is not held up. The log begins anew with a later commit. @throws the thread's error
 */
export const checkpoint = (checkpointing: Checkpointing): Promise<Checkpointed> =>
  askWorker('controller/store/checkpoint', checkpointing)
