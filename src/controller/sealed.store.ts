// What the database keeps sealed, and whether the key of this box opens it.
import { open, SealError } from '../crypto/seal.ts'
import type { Config } from './config.ts'
import { type SealKeys, sealKeys, secretHere } from './secrets.ts'
import type { Db } from './store/db.ts'

/** A sealed value, and the place it is bound to. */
interface Sealed {
  /** Which of the two keys seals it. */
  key: 'node' | 'settings'
  place: string
  sealed: string
}

const SEALED = `
  SELECT 'node' AS key, 'ssh_credentials/' || id || '/sealed_key' AS place, sealed_key AS sealed
    FROM ssh_credentials WHERE sealed_key IS NOT NULL
  UNION ALL SELECT 'settings', 'upload_destinations/' || id || '/smb_password', smb_password
    FROM upload_destinations WHERE smb_password IS NOT NULL
  UNION ALL SELECT 'settings', 'upload_destinations/' || id || '/s3_secret', s3_secret
    FROM upload_destinations WHERE s3_secret IS NOT NULL
  UNION ALL SELECT 'settings', 'switchers/' || id || '/sealed_password', sealed_password
    FROM switchers WHERE sealed_password IS NOT NULL
  UNION ALL SELECT 'settings', 'notification_channels/' || id || '/secret', secret
    FROM notification_channels WHERE secret IS NOT NULL`

/** Everything that a key opens: as many as there are recorders and destinations. */
export const sealedStore = (db: Db) => ({ all: (): Sealed[] => db.stmt<object, Sealed>(SEALED).all({}) })

/** How many values are sealed, and how many of them the secrets of this box do not open: all of them where it has none. */
export function shutIn(db: Db, config: Config): { all: number; shut: number } {
  const sealed = sealedStore(db).all()
  const secret = secretHere(config)
  if (sealed.length === 0 || secret === undefined) return { all: sealed.length, shut: sealed.length }
  const keys = sealKeys({ nodeSshKey: config.SVC_NODE_SSH_MASTER_KEY ?? secret, settingsKey: secret })
  return { all: sealed.length, shut: sealed.filter((one) => !opens(one, keys)).length }
}

export function opens({ key, place, sealed }: Sealed, keys: SealKeys): boolean {
  try {
    open(key === 'node' ? keys.node : keys.settings(), place, sealed)
    return true
  } catch (e) {
    if (e instanceof SealError) return false
    throw e
  }
}
