import { Link } from 'wouter-preact'
import type { UploadItem, UploadRunnerStatus, UploadRunSummary } from '../../wire/uploads.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { instantOf } from '../time/format.rules.ts'
import { When } from '../time/when.tsx'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Badge, Failure, Loading, Name, Said, Section } from '../ui/parts.tsx'
import { type PageMeta, Pager, Table } from '../ui/table.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

const SIZE = 50

export function Uploads() {
  const words = useWords()
  const filters = useFilters(['status', 'recordingId'])
  const list = useRead<{ data: UploadItem[]; meta: PageMeta }>(`/upload-queue?${filters.query(SIZE)}`, ['upload'])
  return (
    <>
      <Runner />
      <FilterBar
        filters={filters}
        choices={[
          { label: words.activity.status, name: 'status', options: Object.entries(words.activity.uploadStatus) },
        ]}
      />
      <Loading of={list}>
        {({ data, meta }) => (
          <Section title={words.activity.uploads}>
            <UploadTable items={data} linked />
            <Pager go={filters.go} meta={meta} size={SIZE} />
          </Section>
        )}
      </Loading>
    </>
  )
}

/** Files on their way to destinations; `linked`: each leads to its take. */
export function UploadTable({ items, linked = false }: { items: readonly UploadItem[]; linked?: boolean }) {
  const words = useWords()
  const write = useWrite()
  const retry = (id: string): void =>
    write.mutate({ method: 'POST', path: `/upload-queue/${encodeURIComponent(id)}/retry` })
  return (
    <>
      {write.error && <Failure error={write.error} />}
      <Table
        caption={words.activity.uploads}
        empty={words.activity.noUploads}
        rows={items}
        columns={[
          { cell: (item) => <File item={item} linked={linked} />, head: words.activity.file },
          { cell: ({ target }) => target && <Name>{target}</Name>, head: words.activity.target },
          {
            cell: ({ status }) => (
              <Badge state={status === 'succeeded' ? 'uploaded' : status} word={words.activity.uploadStatus[status]} />
            ),
            head: words.activity.status,
          },
          {
            cell: ({ attemptCount, maxAttempts }) => words.activity.attemptsOf(attemptCount, maxAttempts),
            head: words.activity.attempts,
          },
          { cell: (item) => <Fault of={item} />, head: words.take.failed },
          {
            cell: ({ id, nextAttemptAt, status }) => {
              if (status === 'queued' || status === 'retrying') return <When at={nextAttemptAt} />
              if (status !== 'failed') return null
              return (
                <ActionButton needs="recording:control" disabled={write.isPending} onClick={() => retry(id)}>
                  {words.activity.retry}
                </ActionButton>
              )
            },
            head: words.activity.next,
          },
        ]}
      />
    </>
  )
}

/** Why it failed; what the destination said stands in the title. Before the first attempt nothing has. */
function Fault({ of: { attemptCount, lastError } }: { of: UploadItem }) {
  const words = useWords()
  if (!lastError || attemptCount === 0) return null
  return <Said among={words.activity.uploadFaults} code={lastError} />
}

function File({ item: { chunkIndex, fileName, recordingId }, linked }: { item: UploadItem; linked: boolean }) {
  const words = useWords()
  const name = fileName ?? (chunkIndex === undefined ? recordingId : words.activity.part(chunkIndex))
  if (!linked) return <Name>{name}</Name>
  return (
    <Link href={`/library/${encodeURIComponent(recordingId)}`}>
      <Name>{name}</Name>
    </Link>
  )
}

function Runner() {
  const words = useWords()
  const { timeFormat } = useApp()
  const say = useToast()
  const status = useRead<{ data: UploadRunnerStatus }>('/upload-runner', ['upload'])
  const run = useWrite<{ summary: UploadRunSummary }>(({ summary: { attempted, succeeded } }) =>
    say(words.activity.ran(attempted, succeeded)),
  )
  return (
    <div class={ui.row}>
      <div class={ui.grow}>
        <Loading of={status}>
          {({ data: { lastRunAt } }) => (
            <p>{lastRunAt ? words.activity.runner(instantOf(lastRunAt, timeFormat)) : words.activity.neverRan}</p>
          )}
        </Loading>
      </div>
      <ActionButton
        needs="recording:control"
        disabled={run.isPending}
        onClick={() => run.mutate({ method: 'POST', path: '/upload-runner/run' })}
      >
        {words.activity.run}
      </ActionButton>
      {run.error && <Failure error={run.error} />}
    </div>
  )
}
