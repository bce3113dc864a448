import { useState } from 'preact/hooks'
import type { HealthEvent } from '../../wire/health.ts'
import type { Recording } from '../../wire/recordings.ts'
import { isRisk } from '../alerts/row.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { lengthOf } from '../time/format.rules.ts'
import ui from '../ui/ui.module.css'
import { type Moment, Player } from '../waveform/player.tsx'
import { useWords } from '../words/words.ts'
import { momentsOf } from './moments.rules.ts'
import { heardFirst, type Version } from './sound.rules.ts'

interface TakePlayerProps {
  alerts: readonly HealthEvent[]
  /** What is heard at first, where there are two. */
  first?: Version
  take: Recording
}

/** Raw and noise suppressed are switched in place: position and loudness stay. */
export function TakePlayer({ alerts, first, take }: TakePlayerProps) {
  const words = useWords()
  const { me } = useApp()
  const both = take.rawCachePath !== undefined || take.enhancedCachePath !== undefined
  const [rendition, setRendition] = useState<Version>(heardFirst(take, first))
  const path = `/recordings/${encodeURIComponent(take.id)}`
  const query = rendition === 'raw' ? '?rendition=raw' : ''
  const moments: Moment[] = momentsOf(take, take.renditions?.[rendition]?.gaps ?? [], alerts.filter(isRisk)).map(
    ({ alert, atSeconds, seconds }) => ({
      atSeconds,
      seconds,
      text:
        alert === undefined
          ? words.take.gapAt(lengthOf(atSeconds), `${seconds.toFixed(2)} s`)
          : `${lengthOf(atSeconds)}: ${words.alert(alert)}`,
    }),
  )
  return (
    <>
      <Player
        begunAt={take.recordedAt}
        duration={take.durationSeconds}
        moments={moments}
        src={`/api/v1${path}/stream${query}`}
        title={take.name}
        waveform={`${path}/waveform${query}`}
      />
      {both && (
        <fieldset class={ui.row}>
          <legend class={ui.hidden}>{words.take.rendition}</legend>
          {(['primary', 'raw'] as const).map((one) => (
            <label key={one} class={ui.button}>
              <input type="radio" name="rendition" checked={rendition === one} onChange={() => setRendition(one)} />
              {one === 'raw' ? words.take.raw : words.take.enhanced}
            </label>
          ))}
        </fieldset>
      )}
      {may(me, 'recording:download', take.roomId) && (
        <div class={ui.row}>
          <a class={ui.button} href={`/api/v1${path}/file${query}`} download>
            {words.take.download}
          </a>
        </div>
      )}
    </>
  )
}
