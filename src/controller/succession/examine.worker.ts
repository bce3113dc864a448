// Looks whether a copy of the database is whole: seconds for gigabytes, in a thread of its own.
import { parentPort, workerData } from 'node:worker_threads'
import { FILE_HELD } from '../recordings/library/held.rules.ts'
import { checkDatabase } from '../store/backup.ts'
import { Db } from '../store/db.ts'
import { schemaOf } from '../store/migrate.ts'
import { sharedAddon } from '../store/native.ts'
import type { Examined, Examining } from './examine.ts'
import { pulseStore } from './pulse.store.ts'

function examined({ addonPath, file }: Examining): Examined {
  const addon = addonPath === undefined ? undefined : sharedAddon(addonPath).binding
  const fault = checkDatabase(file, addon)
  if (fault) return { fault, schema: 0 }
  const db = new Db(file, addon, { plain: true })
  try {
    const schema = schemaOf(db)
    const pulse = schema > 0 ? pulseStore(db).read() : undefined
    return { schema, ...(pulse ? { pulse, recordingsWithoutRemoteCopy: recordingsWithoutRemoteCopy(db) } : {}) }
  } finally {
    db.close()
  }
}

const recordingsWithoutRemoteCopy = (db: Db): number =>
  db
    .stmt<object, { n: number }>(
      `SELECT count(DISTINCT f.recording_id) AS n FROM recording_files f WHERE f.local = 1 AND NOT ${FILE_HELD}`,
    )
    .get({})?.n ?? 0

parentPort?.postMessage(examined(workerData as Examining))
