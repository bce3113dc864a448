import type { ComponentChildren } from 'preact'
import type { Job, Recording } from '../../wire/recordings.ts'
import { useRead, useRoom } from '../data/reads.ts'
import { storedSeconds } from '../library/sound.rules.ts'
import { lengthOf } from '../time/format.rules.ts'
import { useElapsed } from '../time/when.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { classes, Loading, Name } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

interface AskProps {
  close(): void
  confirm(): void
  error: Error | null
  jobs: readonly Job[]
  pending: boolean
}

/** Before many captures are stopped: which, where, and for how long they have run. */
export function AskStop({ jobs, ...confirm }: AskProps) {
  const words = useWords()
  return (
    <Confirm {...confirm} title={words.activity.stopCaptures(jobs.length)} deed={words.common.stop}>
      <p>{words.activity.stopExplained}</p>
      <Takes jobs={jobs}>{(take) => <Elapsed since={take.recordedAt} />}</Takes>
    </Confirm>
  )
}

/** Before many captures begin anew: what of each of them is deleted. */
export function AskRetry({ jobs, ...confirm }: AskProps) {
  const words = useWords()
  return (
    <Confirm
      {...confirm}
      title={words.activity.retryCaptures(jobs.length)}
      deed={words.take.retry}
      typed={String(jobs.length)}
    >
      <p>{words.activity.retryExplained(words.take.likeThis)}</p>
      <Takes jobs={jobs}>{(take) => words.activity.deletes(lengthOf(storedSeconds(take)))}</Takes>
    </Confirm>
  )
}

interface TakesProps {
  /** What is said of each take. */
  children(take: Recording): ComponentChildren
  jobs: readonly Job[]
}

const Takes = ({ children, jobs }: TakesProps) => (
  <ul class={ui.rows}>
    {jobs.map(({ id, recordingId }) => (
      <Take key={id} id={recordingId}>
        {children}
      </Take>
    ))}
  </ul>
)

function Take({ children, id }: Pick<TakesProps, 'children'> & { id: string }) {
  const take = useRead<{ data: Recording }>(`/recordings/${encodeURIComponent(id)}`, ['recording', 'job'])
  const room = useRoom(take.data?.data.roomId)
  return (
    <li class={ui.row}>
      <Loading of={take}>
        {({ data }) => (
          <>
            <span class={ui.grow}>
              <Name>{data.name}</Name>
            </span>
            <span class={classes(ui.small, ui.quiet)}>
              <Name>{room.data?.data.name}</Name>
            </span>
            <span class={classes(ui.small, ui.numbers)}>{children(data)}</span>
          </>
        )}
      </Loading>
    </li>
  )
}

function Elapsed({ since }: { since: string }) {
  const words = useWords()
  return <>{words.today.elapsed(useElapsed(since))}</>
}
