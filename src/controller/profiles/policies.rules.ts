import type { RecorderCachePolicy } from '../../wire/nodes.ts'

interface Limits {
  id: string
  maxAgeDays: number | null
  maxBytes: number | null
  minFreeDiskPercent: number | null
}

/** A retention policy of the recorder's cache as agents read it (contract A, 2.13). */
export function recorderCache({ id, maxAgeDays, maxBytes, minFreeDiskPercent }: Limits): RecorderCachePolicy {
  const deleteAfterUpload = maxAgeDays === null && maxBytes === null && minFreeDiskPercent === null
  return { deleteAfterUpload, maxAgeDays, maxBytes, minFreeDiskPercent, policyId: id }
}
