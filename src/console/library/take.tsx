import type { HealthEvent } from '../../wire/health.ts'
import type { Job, Recording } from '../../wire/recordings.ts'
import type { UploadItem } from '../../wire/uploads.ts'
import { UploadTable } from '../activity/uploads.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useNode, useRead } from '../data/reads.ts'
import { MeterStrip } from '../meters/strip.tsx'
import { classes, Loading, Name, Said, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { TakeFacts } from './facts.tsx'
import { History } from './history.tsx'
import { TakePlayer } from './player.tsx'
import { TakeState } from './rows.tsx'
import { capturedBy, soundOf } from './sound.rules.ts'
import { TakeActions } from './takeactions.tsx'

interface Context {
  healthEvents: HealthEvent[]
  jobs: Job[]
  recording: Recording
  uploadQueueItems: UploadItem[]
}

export function TakePage({ id }: { id: string }) {
  const path = `/recordings/${encodeURIComponent(id)}/context`
  const context = useRead<{ data: Context }>(path, ['recording', 'job', 'upload', 'health'])
  return <Loading of={context}>{({ data }) => <Shown context={data} />}</Loading>
}

function Shown({ context }: { context: Context }) {
  const words = useWords()
  const { me } = useApp()
  const { jobs, recording: take, uploadQueueItems } = context
  const { enhancementFailure } = take.renditions?.primary ?? {}
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
          {words.take.failed}: <Said among={words.activity.takeFaults} code={take.failureReason} />
        </p>
      )}
      {enhancementFailure && (
        <p class={classes(ui.notice, ui.warn)}>
          {words.take.notEnhanced}: <Name>{enhancementFailure}</Name>
        </p>
      )}
      <Sound context={context} />
      <TakeActions jobs={jobs} take={take} />
      <TakeFacts jobs={jobs} take={take} />
      {uploadQueueItems.length > 0 && (
        <Section title={words.take.uploads}>
          <UploadTable items={uploadQueueItems} />
        </Section>
      )}
      {may(me, 'audit:read') && <History id={take.id} kinds={['recording', 'job', 'upload']} />}
    </>
  )
}

/** The player, or where the sound is instead. */
function Sound({ context: { healthEvents, jobs, recording: take, uploadQueueItems } }: { context: Context }) {
  const words = useWords()
  const sound = soundOf(take, jobs)
  if (sound === 'here')
    return (
      <Section title={words.take.waveform}>
        <TakePlayer alerts={healthEvents} take={take} />
      </Section>
    )
  return (
    <>
      <p class={ui.quiet} role="status">
        {words.take.sound[sound]}
        {sound === 'deleted' && uploadQueueItems.length > 0 && ` ${words.take.copies}`}
      </p>
      {sound === 'running' && <Levels jobs={jobs} take={take} />}
    </>
  )
}

/** What the channels of a running take hear. */
function Levels({ jobs, take }: { jobs: readonly Job[]; take: Recording }) {
  const node = useNode(take.nodeId).data?.data
  const device = node && capturedBy(take, jobs, node)
  return device ? <MeterStrip device={device} nodeId={node.id} /> : null
}
