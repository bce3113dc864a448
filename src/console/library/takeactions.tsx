import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import type { Job, Recording } from '../../wire/recordings.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useWrite } from '../data/reads.ts'
import { lengthOf } from '../time/format.rules.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Area, Field, Form } from '../ui/form.tsx'
import { Failure } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { isUnderWay, isWaiting, startLike, storedSeconds } from './sound.rules.ts'
import { StopButton } from './stop.tsx'
import { UploadDialog } from './upload.tsx'

/** What can be done to one take. */
export function TakeActions({ jobs, take }: { jobs: readonly Job[]; take: Recording }) {
  const words = useWords()
  const [asking, setAsking] = useState<'delete' | 'edit' | 'retry' | 'upload'>()
  const failed = jobs.some(isUnderWay)
    ? undefined
    : jobs.find(({ status }) => status === 'failed' || status === 'cancelled')
  const busy = take.status === 'queued' || take.status === 'recording'
  const close = (): void => setAsking(undefined)
  const { roomId } = take
  return (
    <>
      <div class={ui.row}>
        {busy && <StopButton take={take} waiting={isWaiting(take, jobs)} />}
        <ActionButton needs="recording:edit" roomId={roomId} onClick={() => setAsking('edit')}>
          {words.common.edit}
        </ActionButton>
        {failed && <LikeThis job={failed} take={take} />}
        {failed && (
          <ActionButton kind="danger" needs="recording:control" roomId={roomId} onClick={() => setAsking('retry')}>
            {words.take.retry}
          </ActionButton>
        )}
        {take.cached && (
          <ActionButton needs="recording:control" roomId={roomId} onClick={() => setAsking('upload')}>
            {words.library.upload}
          </ActionButton>
        )}
        {!busy && (
          <ActionButton kind="danger" needs="recording:delete" roomId={roomId} onClick={() => setAsking('delete')}>
            {words.common.delete}
          </ActionButton>
        )}
      </div>
      {asking === 'edit' && <Edit close={close} take={take} />}
      {asking === 'upload' && <UploadDialog close={close} recordingIds={[take.id]} />}
      {asking === 'delete' && <Delete close={close} take={take} />}
      {asking === 'retry' && failed && <Retry close={close} job={failed} take={take} />}
    </>
  )
}

/** Records with the same settings, and leaves what there is as it is. */
function LikeThis({ job, take }: { job: Job; take: Recording }) {
  const words = useWords()
  const [, go] = useLocation()
  const write = useWrite<{ data: Recording }>(({ data }) => go(`/library/${encodeURIComponent(data.id)}`))
  return (
    <>
      <ActionButton
        needs="recording:create"
        roomId={take.roomId}
        disabled={write.isPending}
        onClick={() => write.mutate({ body: startLike(take, job), method: 'POST', path: '/recordings' })}
      >
        {words.take.likeThis}
      </ActionButton>
      {write.error && <Failure error={write.error} />}
    </>
  )
}

/** Begins the take anew: the controller deletes what it has of it, and takes nothing of the first attempt any more. */
function Retry({ close, job, take }: { close(): void; job: Job; take: Recording }) {
  const words = useWords()
  const say = useToast()
  const write = useWrite(() => {
    say(words.activity.retried(1))
    close()
  })
  const stored = storedSeconds(take)
  return (
    <Confirm
      title={words.take.retryTake(take.name)}
      deed={words.take.retry}
      close={close}
      confirm={() =>
        write.mutate({ body: {}, method: 'POST', path: `/recording-jobs/${encodeURIComponent(job.id)}/retry` })
      }
      error={write.error}
      pending={write.isPending}
    >
      <p>{stored > 0 ? words.take.retryDeletes(lengthOf(stored)) : words.take.nothingStored}</p>
      <p>{words.take.retryExplained(words.take.likeThis)}</p>
    </Confirm>
  )
}

function Edit({ close, take }: { close(): void; take: Recording }) {
  const words = useWords()
  const write = useWrite(close)
  const path = `/recordings/${encodeURIComponent(take.id)}/metadata`
  return (
    <Dialog title={words.take.edit} close={close}>
      <Form
        error={write.error}
        pending={write.isPending}
        send={(body) => write.mutate({ body, method: 'PATCH', path })}
      >
        <Field name="name" label={words.take.name} defaultValue={take.name} maxLength={240} required />
        <Field name="folder" label={words.library.folder} defaultValue={take.folder} maxLength={240} />
        <Field name="tags" kind="list" label={words.take.listTags} defaultValue={take.tags.join(', ')} />
        <Area name="notes" empty="null" label={words.take.notes} defaultValue={take.notes ?? ''} maxLength={2000} />
      </Form>
    </Dialog>
  )
}

function Delete({ close, take }: { close(): void; take: Recording }) {
  const words = useWords()
  const [, go] = useLocation()
  const write = useWrite(() => go('/library'))
  return (
    <Confirm
      title={words.take.delete}
      deed={words.common.delete}
      close={close}
      confirm={() => write.mutate({ method: 'DELETE', path: `/recordings/${encodeURIComponent(take.id)}` })}
      error={write.error}
      pending={write.isPending}
    >
      <p>{words.library.noWayBack(lengthOf(take.durationSeconds))}</p>
    </Confirm>
  )
}
