import { Link } from 'wouter-preact'
import type { UploadPolicy } from '../../wire/uploads.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Choice, Form } from '../ui/form.tsx'
import { Loading } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import { useWords } from '../words/words.ts'

interface UploadProps {
  close(): void
  recordingIds: readonly string[]
  /** The takes for which an upload was queued. */
  sent?(recordingIds: ReadonlySet<string>): void
}

interface Policies {
  data?: UploadPolicy[]
}

/** Of settings that a person may not read: the policy of the site it is. */
const UNTOLD = { data: {} as Policies, error: null, refetch() {} }

/** Asks where the takes go. A policy without a destination copies nothing, and is not offered. */
export function UploadDialog({ close, recordingIds, sent }: UploadProps) {
  const words = useWords()
  const say = useToast()
  const { me } = useApp()
  const sees = may(me, 'settings:read')
  const policies = useRead<Policies>(sees ? '/settings/upload-policies' : undefined, ['settings'])
  const write = useWrite<{ data: { recordingId: string }[] }>(({ data }) => {
    sent?.(new Set(data.map(({ recordingId }) => recordingId)))
    say(words.library.queued(data.length))
    close()
  })
  const send = (body: Record<string, unknown>): void =>
    write.mutate({ body: { ...body, recordingIds }, method: 'POST', path: '/recordings/bulk-upload-queue' })
  return (
    <Dialog title={words.library.upload} close={close}>
      <Loading of={sees ? policies : UNTOLD}>
        {({ data }) => {
          const ready = data?.filter(({ destinationId, enabled }) => enabled && destinationId !== undefined)
          if (ready?.length === 0) return <NoDestination />
          return (
            <Form error={write.error} pending={write.isPending} send={send} submit={words.library.upload}>
              {ready && (
                <Choice
                  name="uploadPolicyId"
                  label={words.library.uploadBy}
                  chosen={ready[0]?.id}
                  options={ready.map(({ id, name }) => [id, name])}
                />
              )}
            </Form>
          )
        }}
      </Loading>
    </Dialog>
  )
}

function NoDestination() {
  const words = useWords()
  return (
    <>
      <p>{words.library.noDestination}</p>
      <p>
        <Link href="/settings/destinations">{words.library.toDestinations}</Link>
      </p>
    </>
  )
}
