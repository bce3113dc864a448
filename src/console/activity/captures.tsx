import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { Job } from '../../wire/recordings.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useNode, useRead, useWrite } from '../data/reads.ts'
import { NodeFilter } from '../recorders/filter.tsx'
import { When } from '../time/when.tsx'
import { ExportLink } from '../ui/export.tsx'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Badge, Button, Loading, Name, Said, Section } from '../ui/parts.tsx'
import { type Column, type PageMeta, Pager, type Selection, Table, useSelection } from '../ui/table.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { AskRetry, AskStop } from './ask.tsx'
import { Parts } from './parts.tsx'

const SIZE = 50

export function Captures() {
  const words = useWords()
  const filters = useFilters(['status', 'search', 'nodeId'])
  const selection = useSelection()
  const [shown, setShown] = useState<Job>()
  const jobs = useRead<{ data: Job[]; meta: PageMeta }>(`/recording-jobs?${filters.query(SIZE)}`, ['job'])
  return (
    <>
      <FilterBar
        filters={filters}
        searches={[{ label: words.activity.search, name: 'search' }]}
        choices={[{ label: words.activity.status, name: 'status', options: Object.entries(words.activity.jobStatus) }]}
      >
        <NodeFilter filters={filters} />
      </FilterBar>
      <Loading of={jobs}>
        {({ data, meta }) => (
          <Section
            title={words.activity.captures}
            aside={
              <div class={ui.row}>
                <Button aria-pressed={selection.active} onClick={() => selection.setActive(!selection.active)}>
                  {words.common.select}
                </Button>
                <ExportLink filters={filters} of="recording-jobs" />
              </div>
            }
          >
            {selection.active && <Bulk jobs={data} selection={selection} />}
            <Rows jobs={data} selection={selection} show={setShown} />
            <Pager go={filters.go} meta={meta} size={SIZE} />
          </Section>
        )}
      </Loading>
      {shown && <Parts job={shown} close={() => setShown(undefined)} />}
    </>
  )
}

function Rows({ jobs, selection, show }: { jobs: readonly Job[]; selection: Selection; show(job: Job): void }) {
  const words = useWords()
  const columns: Column<Job>[] = [
    {
      cell: ({ command, recordingId, recordingName }) => (
        <Link href={`/library/${encodeURIComponent(recordingId)}`}>
          <Name>{recordingName ?? command.outputFileName}</Name>
        </Link>
      ),
      head: words.activity.take,
    },
    { cell: ({ nodeId }) => <Recorder id={nodeId} />, head: words.activity.recorder },
    { cell: ({ createdAt }) => <When at={createdAt} />, head: words.activity.created },
    { cell: (job) => <State job={job} />, head: words.activity.status },
    {
      cell: ({ failureReason }) => failureReason && <Said among={words.activity.takeFaults} code={failureReason} />,
      head: words.activity.why,
    },
    { cell: (job) => <Button onClick={() => show(job)}>{words.activity.parts}</Button>, head: words.activity.parts },
  ]
  return (
    <Table
      caption={words.activity.captures}
      columns={columns}
      empty={words.activity.noCaptures}
      nameOf={({ command, recordingName }) => recordingName ?? command.outputFileName}
      rows={jobs}
      selection={selection}
    />
  )
}

function Recorder({ id }: { id: string }) {
  const node = useNode(id)
  return node.data ? <Name>{node.data.data.alias}</Name> : null
}

function State({ job: { progress, status } }: { job: Job }) {
  const words = useWords()
  const stage = status !== 'stop_requested' && progress && words.stage[progress.stage]
  const word = stage
    ? [stage, progress?.percent !== undefined && `${Math.round(progress.percent)} %`].filter(Boolean).join(' ')
    : words.activity.jobStatus[status]
  return <Badge state={status === 'running' ? 'recording' : status} word={word} />
}

type Asked = 'retry' | 'stop'

/** Stop or retry for all that are chosen, after a question; what was left as it was stays chosen. */
function Bulk({ jobs, selection }: { jobs: readonly Job[]; selection: Selection }) {
  const words = useWords()
  const [asking, setAsking] = useState<Asked>()
  const chosen = jobs.filter(({ id }) => selection.ids.has(id))
  const idle = chosen.length === 0
  return (
    <div class={ui.row}>
      <span class={ui.grow}>{words.common.selected(chosen.length)}</span>
      <ActionButton needs="recording:control" disabled={idle} onClick={() => setAsking('stop')}>
        {words.common.stop}
      </ActionButton>
      <ActionButton needs="recording:control" disabled={idle} onClick={() => setAsking('retry')}>
        {words.take.retry}
      </ActionButton>
      {asking && <Ask asked={asking} close={() => setAsking(undefined)} jobs={chosen} selection={selection} />}
    </div>
  )
}

interface AskProps {
  asked: Asked
  close(): void
  jobs: readonly Job[]
  selection: Selection
}

function Ask({ asked, close, jobs, selection }: AskProps) {
  const words = useWords()
  const say = useToast()
  const [done, path] =
    asked === 'stop'
      ? [words.activity.stopped, '/recording-jobs/bulk-stop']
      : [words.activity.retried, '/recording-jobs/bulk-retry']
  const write = useWrite<{ data: Job[] }>(({ data }) => {
    // A retry is a new job of the same take.
    const touched = new Set(data.map(({ recordingId }) => recordingId))
    const left = jobs.filter(({ recordingId }) => !touched.has(recordingId)).map(({ id }) => id)
    selection.set(left)
    say([done(data.length), left.length > 0 && words.activity.notDone(left.length)].filter(Boolean).join(' '))
    close()
  })
  const ask = {
    close,
    confirm: () => write.mutate({ body: { jobIds: jobs.map(({ id }) => id) }, method: 'POST', path }),
    error: write.error,
    jobs,
    pending: write.isPending,
  }
  return asked === 'stop' ? <AskStop {...ask} /> : <AskRetry {...ask} />
}
