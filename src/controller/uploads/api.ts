import type { UploadQueueStore } from './queue.store.ts'

/** The uploads of a take and of its chunks. */
export type UploadsApi = Pick<UploadQueueStore, 'chunkUploads' | 'ofRecording'>
