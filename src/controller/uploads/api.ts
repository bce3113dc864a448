import type { UploadQueueStore } from './queue.store.ts'
import type { TroubleStore } from './troubles.store.ts'

/** The uploads of a take and of its chunks, and what stands against those to come. */
export interface UploadsApi extends Pick<UploadQueueStore, 'chunkUploads' | 'ofRecording'> {
  troubles: TroubleStore['byPolicy']
}
