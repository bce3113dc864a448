// Brings stored audio back from its upload destinations.

import * as fs from 'node:fs'
import * as path from 'node:path'
import type { Readable } from 'node:stream'
import { deriveKey } from '../../crypto/seal.ts'
import { Fail, misuse } from '../../kernel/fail.ts'
import type { UploadItem } from '../../wire/uploads.ts'
import type { Config } from '../config.ts'
import type { Db } from '../store/db.ts'
import { segments } from '../uploads/destinations.rules.ts'
import { type DestinationStore, destinationStore, type Opened } from '../uploads/destinations.store.ts'
import { type Driver, DriverError } from '../uploads/driver.ts'
import { s3Driver } from '../uploads/drivers.s3.ts'
import { findSmbclient, smbDriver } from '../uploads/drivers.smb.ts'
import { remotePath } from '../uploads/queue.rules.ts'
import { type Source, type StoredFile, writeWithChecksum } from './takes.ts'
import type { ControllerFiles } from './verb.ts'

type Item = Pick<UploadItem, 'fileName' | 'pathOverride' | 'target'> & { destinationId: string }

interface Destination {
  /** Absent after a failure. */
  driver: Driver | undefined
  opened: Opened
}

/**
 * Takes as they were uploaded, found by recording and checksum. A destination that fails is not used again in this run;
 * `tell` gets the reason, and the next run fetches what is still missing.
 * @throws UserError without the key that opens the destinations' secrets.
 */
export function fromDestinations(db: Db, { config }: ControllerFiles, tell: (line: string) => void): Source {
  const destinations = openedDestinations(db, config)
  const uploads = uploadsOf(db)
  const open = new Map<string, Destination | undefined>()
  const destination = (id: string): Destination | undefined => {
    if (!open.has(id)) open.set(id, openDestination(destinations, id, config, tell))
    return open.get(id)
  }
  return async (file, part) => {
    for (const item of uploads(file)) {
      const from = destination(item.destinationId)
      const checksum = from && (await fetchFrom(from, item, part, tell))
      if (checksum !== undefined) return checksum
    }
    return undefined
  }
}

/** The destinations of a database, with their secrets. @throws UserError without the key that opens them */
export function openedDestinations(db: Db, config: Config): DestinationStore {
  const key = deriveKey(sealingSecret(config))
  return destinationStore(
    db,
    () => key,
    () => undefined,
  )
}

/** The successful uploads of exactly this content, newest first. */
function uploadsOf(db: Db): (file: StoredFile) => Item[] {
  const found = db.stmt<{ checksum: string; path: string }, { [K in keyof Required<Item>]: string | null }>(
    `SELECT q.destination_id AS destinationId, q.file_name AS fileName, q.path_override AS pathOverride, q.target
       FROM upload_queue q
      WHERE q.status = 'succeeded' AND q.checksum = @checksum AND q.recording_id IN (
        SELECT recording_id FROM recording_files WHERE path = @path
        UNION ALL SELECT recording_id FROM recording_chunk_files WHERE path = @path)
      ORDER BY q.updated_at DESC`,
  )
  return ({ checksum, path: place }) => found.all({ checksum, path: place }) as unknown as Item[]
}

/** The secret that sealed the destinations' secrets; never generated here, because a new one opens nothing. */
function sealingSecret({ SVC_DATA_DIR, SVC_SECRET_KEY }: Config): string {
  const file = path.join(SVC_DATA_DIR, 'secret.key')
  if (SVC_SECRET_KEY) return SVC_SECRET_KEY
  if (fs.existsSync(file)) return fs.readFileSync(file, 'utf8').trim()
  throw misuse(
    `The destinations' secrets cannot be opened: set SVC_SECRET_KEY to the old controller's, or put its secret.key at ${file}.`,
  )
}

function openDestination(
  destinations: DestinationStore,
  id: string,
  { programDirs, SVC_SMBCLIENT_COMMAND: command }: Config,
  tell: (line: string) => void,
): Destination | undefined {
  try {
    const opened = destinations.open(id)
    const smbclient = findSmbclient(command, programDirs) ?? command
    const driver = opened.kind === 's3' ? s3Driver(opened.s3) : smbDriver({ command: smbclient, options: opened.smb })
    return { driver, opened }
  } catch (e) {
    if (!(e instanceof Fail)) throw e
    tell(`${id}: ${e.message}.`)
    return undefined
  }
}

async function fetchFrom(
  from: Destination,
  item: Item,
  part: string,
  tell: (line: string) => void,
): Promise<string | undefined> {
  let checksum: string | undefined
  let disk: unknown
  const take = async (body: Readable): Promise<void> => {
    try {
      checksum = await writeWithChecksum(part, body)
    } catch (e) {
      if (isOfDisk(e)) disk = e
      throw e
    }
  }
  try {
    for (const remote of remotePaths(from.opened, item))
      if (await from.driver?.fetch(remote, take, new AbortController().signal)) return checksum
  } catch (e) {
    // Drivers report every error as theirs: our own failing write is not the destination's fault.
    if (disk !== undefined) throw disk
    if (!(e instanceof DriverError)) throw e
    tell(`${item.destinationId}: ${e.message}. It is not used again in this run; run it again when it answers.`)
    from.driver = undefined
  }
  return undefined
}

/** Whether our own file failed, and not the connection that was read. */
const isOfDisk = (e: unknown): boolean =>
  ['close', 'fdatasync', 'fsync', 'open', 'write'].includes((e as NodeJS.ErrnoException).syscall ?? '')

/** Where it was sent: by today's settings, and by those of the day it was queued. */
function remotePaths({ kind, s3, smb }: Opened, item: Item): string[][] {
  const [root, base] = kind === 's3' ? [`s3://${s3.bucket}`, s3.prefix] : [`smb://${smb.server}/${smb.share}`, smb.path]
  const now = remotePath(base, item)
  if (!`${item.target}/`.startsWith(`${root}/`)) return [now]
  const then = [...segments(item.target?.slice(root.length)), ...now.slice(-1)]
  return then.join('/') === now.join('/') ? [now] : [now, then]
}
