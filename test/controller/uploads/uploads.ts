// Destinations, policies and cached takes to test uploads with.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { recordingCounts } from '../../../src/controller/recordings/library/counts.store.ts'
import { uploadQueueStore } from '../../../src/controller/uploads/queue.store.ts'
import type { UploadItem } from '../../../src/wire/uploads.ts'
import { type Kit, kit } from '../../kit/kit.ts'
import { ACCESS_KEY, SECRET_KEY } from '../../kit/s3.ts'
import { takes } from '../recordings/library/takes.ts'

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export const S3_DESTINATION = {
  displayName: 'Archive',
  kind: 's3',
  enabled: true,
  s3: {
    accessKeyId: ACCESS_KEY,
    bucket: 'takes',
    endpoint: 'http://127.0.0.1:9',
    forcePathStyle: true,
    prefix: 'rooms',
  },
  s3SecretAccessKey: SECRET_KEY,
}

export function uploads(env: Record<string, string> = {}) {
  const k: Kit = kit({ env })
  const owner = k.as('owner')
  const t = takes(k)
  let made = 0

  const destination = async (fields: object = {}): Promise<string> => {
    const { status, json, text } = await owner.post('/settings/upload-destinations', { ...S3_DESTINATION, ...fields })
    assert.equal(status, 201, text)
    return json.data.id
  }
  const policy = async (destinationId: string, fields: object = {}): Promise<string> => {
    const { status, json, text } = await owner.post('/settings/upload-policies', {
      destinationId,
      name: 'P',
      ...fields,
    })
    assert.equal(status, 201, text)
    return json.data.id
  }
  /** A recording whose file is here; gives its id. */
  const cached = (
    uploadPolicyIds: string[],
    more: { bytes?: Uint8Array; id?: string; nodeId?: string; name?: string } = {},
  ) => {
    const { bytes = Buffer.from(`audio ${++made}`), id = `rec_${made}`, name = id, nodeId = 'n1' } = more
    t.recording(id, { name, nodeId, uploadPolicyIds })
    const path = t.file(id, 'primary', bytes, 'mp3')
    k.db.tx(() => t.store.settle(id, 'cached', k.now()))
    return { bytes, id, path }
  }
  const enqueue = async (id: string, body: object = {}): Promise<UploadItem> => {
    const { status, json, text } = await owner.post(`/recordings/${id}/upload-queue`, body)
    assert.equal(status, 201, text)
    return json.data
  }
  const items = uploadQueueStore(k.db, recordingCounts(k.db))
  const item = (id: string): UploadItem => items.get(id)
  const recording = (id: string) => t.store.get(id)
  return { ...t, cached, destination, enqueue, item, k, owner, policy, recording, takes: t }
}
export type Uploads = ReturnType<typeof uploads>
