// What this box knows of the lease when the store cannot be asked.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { hasCode, replaceFile } from '../../kernel/durable.ts'
import { misuse } from '../../kernel/fail.ts'
import { jsonOf } from '../../kernel/http.ts'
import type { Ids } from '../../kernel/ids.ts'
import { type LeaseMemory, leaseMemoryOf } from '../../wire/lease.ts'

export interface LeaseFile {
  readonly now: LeaseMemory
  /** Durable when it resolves. */
  save(change: Omit<LeaseMemory, 'id'>): Promise<void>
}

/** The lease file of a data directory; a first one gets its id here. @throws UserError when it is damaged */
export async function openLeaseFile(dir: string, ids: Ids): Promise<LeaseFile> {
  const file = path.join(dir, 'lease.json')
  let now = await read(file)
  const write = (next: LeaseMemory): Promise<void> => {
    now = next
    return replaceFile(file, `${JSON.stringify(next, null, 2)}\n`)
  }
  if (!now) await write({ id: ids.uuid(), term: 0 })
  return {
    get now() {
      return now as LeaseMemory
    },
    save: (change) => write({ ...change, id: (now as LeaseMemory).id }),
  }
}

async function read(file: string): Promise<LeaseMemory | undefined> {
  const text = await fs.readFile(file, 'utf8').catch((e) => {
    if (hasCode(e, 'ENOENT')) return undefined
    throw e
  })
  const memory = text === undefined ? undefined : leaseMemoryOf(jsonOf(text))
  if (text === undefined || memory) return memory
  throw misuse(
    `${file} cannot be read, so it is not known whether this box may be the controller: look into the bucket of ` +
      'SVC_LEASE_URL who holds the lease, then remove the file.',
  )
}
