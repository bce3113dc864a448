// Checkpoints the write-ahead log (WAL) beside the connection that writes.
import { parentPort, workerData } from 'node:worker_threads'
import type { Checkpointed, Checkpointing } from './checkpoint.ts'
import { Db } from './db.ts'
import { sharedAddon } from './native.ts'

const { addonPath, file } = workerData as Checkpointing
const db = new Db(file, addonPath === undefined ? undefined : sharedAddon(addonPath).binding, { plain: true })
try {
  const [{ checkpointed, log }] = db.raw.pragma('wal_checkpoint(PASSIVE)') as [Checkpointed]
  parentPort?.postMessage({ checkpointed, log })
} finally {
  db.close()
}
