// Boxes that share a lease in a real bucket, each with a clock of its own that waits; and the database of a controller, copied.

import assert from 'node:assert/strict'
import * as path from 'node:path'
import { copyDatabase } from '../../../src/controller/store/backup.ts'
import { leaseStore } from '../../../src/controller/succession/lease.s3.ts'
import { LeaseClient } from '../../../src/controller/succession/leaseclient.ts'
import { openLeaseFile } from '../../../src/controller/succession/leasefile.ts'
import { type PairSettings, placeOf } from '../../../src/controller/succession/place.rules.ts'
import { randomIds } from '../../../src/kernel/ids.ts'
import { kit } from '../../kit/kit.ts'
import { ACCESS_KEY, type S3Server, SECRET_KEY } from '../../kit/s3.ts'
import { scratchDir } from '../../kit/scratch.ts'

export const TTL_MS = 30_000

export const pairAt = (
  { endpoint }: Pick<S3Server, 'endpoint'>,
  automatic = false,
  url = 'http://one',
): PairSettings => ({
  accessKeyId: ACCESS_KEY,
  automatic,
  lease: placeOf(`s3://takes/pair/lease.json?endpoint=${endpoint}`)!,
  litestream: 'litestream',
  replica: placeOf(`s3://takes/pair/database?endpoint=${endpoint}`)!,
  secretAccessKey: SECRET_KEY,
  ttlMs: TTL_MS,
  url,
})

/** A box; `again` is the same one after a restart. */
export async function box(
  s3: Pick<S3Server, 'endpoint'>,
  name: string,
  automatic = false,
  dir = scratchDir('roomtone-lease-'),
) {
  let [monotonic, wall] = [1000, Date.parse('2026-03-02T09:00:00.000Z')]
  const logged: string[] = []
  const log = (message: string) => void logged.push(message)
  const leaseFile = await openLeaseFile(dir, randomIds)
  const store = await leaseStore(pairAt(s3), 3000)
  const leaseClient = new LeaseClient({
    automatic,
    clock: { monotonic: () => monotonic, now: () => wall },
    log: { debug: log, error: log, info: log, warn: log },
    leaseFile,
    self: { id: leaseFile.now.id, name, url: `http://${name}` },
    store,
    ttlMs: TTL_MS,
  })
  return {
    again: () => box(s3, name, automatic, dir),
    async close() {
      await leaseClient.stopRenewing()
      store.close()
    },
    /** The wall clock alone. */
    jump: (ms: number) => {
      wall += ms
    },
    logged,
    leaseFile,
    pass: (ms: number) => {
      monotonic += ms
      wall += ms
    },
    leaseClient,
  }
}
export type TestBox = Awaited<ReturnType<typeof box>>

/** The copy of a controller that keeps one password sealed. */
export async function copied(): Promise<string> {
  const lease = { silence: undefined, term: 3 } as LeaseClient
  const k = kit({ file: path.join(scratchDir('roomtone-followed-'), 'roomtone.db'), lease })
  await k.start()
  const answer = await k.as('owner').post('/settings/upload-destinations', {
    displayName: 'Share',
    enabled: true,
    kind: 'smb',
    smb: { port: 445, server: 'nas', share: 'takes', username: 'svc' },
    smbPassword: 'password-of-the-share',
  })
  assert.equal(answer.status, 201, answer.text)
  const copy = path.join(scratchDir('roomtone-copied-'), 'copy.db')
  await copyDatabase(k.db, copy, undefined)
  await k.close()
  return copy
}
