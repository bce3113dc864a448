import type { Ids } from '../../kernel/ids.ts'
import type { RecordingsApi } from '../recordings/api.ts'
import type { Db } from '../store/db.ts'
import type { Unavailable } from './destinations.rules.ts'
import { destinationStore } from './destinations.store.ts'
import { enqueueStore } from './enqueue.store.ts'
import { uploadPolicyStore } from './policies.store.ts'
import { uploadQueueStore } from './queue.store.ts'
import { uploadWorkStore } from './work.store.ts'

interface Parts {
  /** Attempts of a policy whose maker names no number. */
  attempts: number
  counts: RecordingsApi['counts']
  db: Db
  ids: Ids
  /** Seals the secrets of destinations; derived when one is first needed. */
  key: () => Uint8Array
  masters: boolean
  recordings: RecordingsApi['recordings']
  unavailable: Unavailable
}

/** The stores of this domain: each stands on the ones before it. */
export function uploadStores({ attempts, counts, db, ids, key, masters, recordings, unavailable }: Parts) {
  const destinations = destinationStore(db, key, unavailable)
  const policies = uploadPolicyStore(db, destinations, attempts)
  const queue = uploadQueueStore(db, counts)
  const enqueues = enqueueStore({ db, destinations, ids, masters, policies, queue, recordings })
  return { destinations, enqueues, policies, queue, work: uploadWorkStore(db) }
}
export type UploadStores = ReturnType<typeof uploadStores>
