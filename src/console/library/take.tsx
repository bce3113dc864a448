import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Recording } from '../../wire/recordings.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useNode, useRead } from '../data/reads.ts'
import { lengthOf } from '../time/format.rules.ts'
import { When } from '../time/when.tsx'
import { classes, Loading, Name, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { Player } from '../waveform/player.tsx'
import { useWords } from '../words/words.ts'
import { Length, TakeState } from './rows.tsx'
import { StopButton } from './stop.tsx'

type Rendition = 'primary' | 'raw'

export function TakePage({ id }: { id: string }) {
  const take = useRead<{ data: Recording }>(`/recordings/${encodeURIComponent(id)}`, ['recording', 'job'])
  return <Loading of={take}>{({ data }) => <Shown take={data} />}</Loading>
}

function Shown({ take }: { take: Recording }) {
  const words = useWords()
  const path = `/recordings/${encodeURIComponent(take.id)}`
  return (
    <>
      <div class={ui.heading}>
        <Title>
          <Name>{take.name}</Name>
        </Title>
        <TakeState take={take} />
      </div>
      {take.failureReason && (
        <p class={classes(ui.notice, ui.bad)}>
          {words.take.failed}: <Name>{take.failureReason}</Name>
        </p>
      )}
      {take.cached ? <Heard path={path} take={take} /> : <p class={ui.quiet}>{words.library.notHere}</p>}
      <Facts take={take} />
      {take.status === 'recording' && (
        <div class={ui.row}>
          <StopButton take={take} />
        </div>
      )}
    </>
  )
}

/** Raw and noise suppressed are switched in place: position and loudness stay. */
function Heard({ path, take }: { path: string; take: Recording }) {
  const words = useWords()
  const { me } = useApp()
  const both = take.rawCachePath !== undefined || take.enhancedCachePath !== undefined
  const [rendition, setRendition] = useState<Rendition>('primary')
  const query = rendition === 'raw' ? '?rendition=raw' : ''
  const gaps = take.renditions?.[rendition]?.gaps ?? []
  return (
    <Section title={words.take.waveform}>
      <Player
        duration={take.durationSeconds}
        gaps={gaps}
        src={`/api/v1${path}/stream${query}`}
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
      {gaps.length > 0 && (
        <ul class={ui.rows}>
          {gaps.map(({ atSeconds, seconds }) => (
            <li key={atSeconds} class={classes(ui.row, ui.warn)}>
              {words.take.gapAt(lengthOf(atSeconds), `${seconds.toFixed(2)} s`)}
            </li>
          ))}
        </ul>
      )}
      {may(me, 'recording:download', take.roomId) && (
        <div class={ui.row}>
          <a class={ui.button} href={`/api/v1${path}/file${query}`} download>
            {words.take.download}
          </a>
        </div>
      )}
    </Section>
  )
}

function Facts({ take }: { take: Recording }) {
  const words = useWords()
  const node = useNode(take.nodeId)
  const { capture, denoiser, loudness } = take.renditions?.primary ?? {}
  const rows: [string, ComponentChildren][] = [
    [words.take.recorded, <When key="at" at={take.recordedAt} />],
    [words.take.length, <Length key="length" take={take} />],
    [words.take.recorder, node.data && <Name key="node">{node.data.data.alias}</Name>],
    [words.take.device, capture && `${capture.channels} x ${capture.sampleRate} Hz, ${capture.format}`],
    [words.take.denoiser, denoiser && `${denoiser.engine} (${denoiser.model})`],
    [words.take.loudness, loudness && words.units.lufs(loudness.integratedLufs.toFixed(1))],
    [words.take.tags, take.tags.length > 0 && <Name key="tags">{take.tags.join(', ')}</Name>],
    [words.take.notes, take.notes && <Name key="notes">{take.notes}</Name>],
  ]
  return (
    <Section title={words.take.title}>
      <dl class={ui.facts}>
        {rows
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </>
          ))}
      </dl>
    </Section>
  )
}
