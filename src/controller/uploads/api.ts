import type { UploadQueueStore } from './queue.store.ts'

/** What other modules may ask: which copies there are of a take, and of its chunks. */
export type UploadsApi = Pick<UploadQueueStore, 'chunkUploads' | 'ofRecording'>
