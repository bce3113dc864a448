// What a support file of a controller has to hide: names from the database, secrets from settings and files.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { asOwnerOf } from '../../../system/host/accounts.ts'
import { SETTINGS } from '../../config.ts'
import { filesOf, installedConfig } from '../verb.ts'
import { openedDatabase, sealedSecrets } from './database.ts'
import { type NameRow, namesIn } from './names.store.ts'

export const settingNames: readonly string[] = Object.keys(SETTINGS)

/** Names that people gave, with the rights of the directory's owner. `whole`: none is missing. */
export function controllerNames(): { names: NameRow[]; whole: boolean } {
  const place = filesOf(installedConfig())
  return asOwnerOf(place.config.SVC_DATA_DIR, () => {
    const db = openedDatabase(place)
    // Where there is no database nobody has given a name.
    const none = { names: [], whole: !fs.existsSync(place.database) }
    try {
      return db ? namesIn(db) : none
    } finally {
      db?.close()
    }
  })
}

/** The key of this controller, and all that is sealed with it, in plain text. Throws nothing for a damaged database. */
export function controllerSecrets(): string[] {
  const place = filesOf(installedConfig())
  const { SVC_DATA_DIR: dir, SVC_SECRET_KEY: given } = place.config
  const file = path.join(dir, 'secret.key')
  const key = given ?? (fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() : undefined)
  if (key === undefined) return []
  return asOwnerOf(dir, () => {
    const db = openedDatabase(place)
    try {
      return [key, ...(db ? sealedSecrets(db, place, key) : [])]
    } catch {
      // Its journal is left out where the database cannot be read.
      return [key]
    } finally {
      db?.close()
    }
  })
}
