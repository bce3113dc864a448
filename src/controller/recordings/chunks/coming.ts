import { type Clock, iso } from '../../../kernel/clock.ts'
import { isComing } from './chunks.rules.ts'
import type { ChunkStore } from './chunks.store.ts'

/** What a player has to know of takes that came in chunks. */
export const comings = (chunks: ChunkStore, clock: Clock) => ({
  /** Whether the joined file, of the raw masters or of what is played, is about to be there. */
  coming(recordingId: string, raw: boolean): boolean {
    const set = chunks.find(recordingId)
    return set !== undefined && isComing(set, raw && set.raws > 0 ? 'raw' : 'primary', iso(clock.now()))
  },
  /** Whether what is played of it may be enhanced in part: that is no master. */
  enhanced: (recordingId: string): boolean => chunks.files(recordingId).some((file) => file.rendition === 'enhanced'),
})
