import type { HealthEvent } from '../../wire/health.ts'
import type { Job, Recording } from '../../wire/recordings.ts'
import type { UploadItem } from '../../wire/uploads.ts'
import { UploadTable } from '../activity/uploads.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useNode, useRead } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { type Fact, Facts, Loading, Name, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { TakeDeeds } from './deeds.tsx'
import { History } from './history.tsx'
import { TakePlayer } from './player.tsx'
import { Length, TakeState } from './rows.tsx'

interface Context {
  healthEvents: HealthEvent[]
  jobs: Job[]
  recording: Recording
  uploadQueueItems: UploadItem[]
}

export function TakePage({ id }: { id: string }) {
  const path = `/recordings/${encodeURIComponent(id)}`
  const context = useRead<{ data: Context }>(`${path}/context`, ['recording', 'job', 'upload', 'health'])
  // Only one recording shown by itself tells how its renditions were made.
  const take = useRead<{ data: Recording }>(path, ['recording', 'job'])
  return (
    <Loading of={take}>
      {({ data }) => <Shown alerts={context.data?.data.healthEvents ?? []} context={context.data?.data} take={data} />}
    </Loading>
  )
}

interface ShownProps {
  alerts: readonly HealthEvent[]
  context: Context | undefined
  take: Recording
}

function Shown({ alerts, context, take }: ShownProps) {
  const words = useWords()
  const { me } = useApp()
  return (
    <>
      <div class={ui.heading}>
        <Title>
          <Name>{take.name}</Name>
        </Title>
        <TakeState take={take} />
      </div>
      {take.failureReason && (
        <p class={`${ui.notice} ${ui.bad}`}>
          {words.take.failed}: <Name>{take.failureReason}</Name>
        </p>
      )}
      {take.cached ? (
        <Section title={words.take.waveform}>
          <TakePlayer alerts={alerts} take={take} />
        </Section>
      ) : (
        <p class={ui.quiet}>{words.library.notHere}</p>
      )}
      <TakeDeeds jobs={context?.jobs ?? []} take={take} />
      <TakeFacts take={take} />
      {context && context.uploadQueueItems.length > 0 && (
        <Section title={words.take.uploads}>
          <UploadTable items={context.uploadQueueItems} />
        </Section>
      )}
      {may(me, 'audit:read') && <History id={take.id} />}
    </>
  )
}

function TakeFacts({ take }: { take: Recording }) {
  const words = useWords()
  const node = useNode(take.nodeId)
  const { capture, denoiser, loudness } = take.renditions?.primary ?? {}
  const rows: Fact[] = [
    [words.take.recorded, <When key="at" at={take.recordedAt} />],
    [words.take.length, <Length key="length" take={take} />],
    [words.take.source, words.take.sources[take.source]],
    [words.take.recorder, node.data && <Name key="node">{node.data.data.alias}</Name>],
    [words.take.device, capture && `${capture.channels} x ${capture.sampleRate} Hz, ${capture.format}`],
    [words.take.denoiser, denoiser && `${denoiser.engine} (${denoiser.model})`],
    [words.take.loudness, loudness && words.units.lufs(loudness.integratedLufs.toFixed(1))],
    [words.take.truePeak, loudness && words.units.db(loudness.truePeakDbtp.toFixed(1))],
    [words.library.folder, <Name key="folder">{take.folder}</Name>],
    [words.take.tags, take.tags.length > 0 && <Name key="tags">{take.tags.join(', ')}</Name>],
    [words.take.notes, take.notes && <Name key="notes">{take.notes}</Name>],
    [words.take.checksum, take.checksum && <code key="checksum">{take.checksum}</code>],
  ]
  return (
    <Section title={words.take.title}>
      <Facts of={rows} />
    </Section>
  )
}
