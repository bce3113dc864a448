import { isoPlus } from '../../../kernel/clock.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { WaveformStore } from './waveforms.store.ts'
import type { Waveforms } from './waveforms.ts'

// Whoever opens a take that has just arrived sees it.
const EVERY_SECONDS = 5
const BATCH = 20
// Older takes get theirs when somebody looks at them.
const RECENT_SECONDS = 86_400

/** Takes that came in have their waveform before somebody looks: the list shows it. */
export const waveformRunner = (waveforms: WaveformStore, making: Waveforms): Runner => ({
  name: 'waveforms',
  enabled: true,
  intervalSeconds: EVERY_SECONDS,
  tick(now) {
    const bare = waveforms.bare(isoPlus(now, -RECENT_SECONDS), BATCH)
    for (const file of bare) making.foresee(file)
    return { wanted: bare.length }
  },
})
