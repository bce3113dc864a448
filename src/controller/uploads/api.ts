import type { Library } from './library/library.ts'
import type { UploadQueueStore } from './queue.store.ts'
import type { TroubleStore } from './troubles.store.ts'

/** The uploads of a take and of its chunks, and what stands against those to come. */
export interface UploadsApi extends Pick<UploadQueueStore, 'chunkUploads' | 'ofRecording'> {
  /** Takes that are at destinations, to be read from there. */
  library: Pick<Library, 'borrow' | 'confirm' | 'has' | 'link' | 'notHere' | 'read'>
  troubles: TroubleStore['byPolicy']
}
