import { useState } from 'preact/hooks'
import type { Recording } from '../../wire/recordings.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useWrite } from '../data/reads.ts'
import { lengthOf } from '../time/format.rules.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import type { Selection } from '../ui/table.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { UploadDialog } from './upload.tsx'

interface BulkProps {
  selection: Selection
  takes: readonly Recording[]
}

/** From how many takes on a delete asks for their number in writing. */
const MANY = 10

/** What can be done to all chosen takes of the page. */
export function Bulk({ selection, takes }: BulkProps) {
  const words = useWords()
  const [asking, setAsking] = useState<'delete' | 'organize' | 'upload'>()
  const chosen = takes.filter(({ id }) => selection.ids.has(id))
  const recordingIds = chosen.map(({ id }) => id)
  const idle = chosen.length === 0
  const close = (): void => setAsking(undefined)
  return (
    <>
      <div class={ui.row}>
        <span class={ui.grow}>{words.common.selected(chosen.length)}</span>
        <ActionButton needs="recording:edit" disabled={idle} onClick={() => setAsking('organize')}>
          {words.library.organize}
        </ActionButton>
        <ActionButton needs="recording:control" disabled={idle} onClick={() => setAsking('upload')}>
          {words.library.upload}
        </ActionButton>
        <ActionButton kind="danger" needs="recording:delete" disabled={idle} onClick={() => setAsking('delete')}>
          {words.common.delete}
        </ActionButton>
      </div>
      {asking === 'organize' && <Organize close={close} ids={recordingIds} selection={selection} />}
      {asking === 'upload' && (
        <UploadDialog
          close={close}
          recordingIds={recordingIds}
          sent={(sent) => selection.set(recordingIds.filter((id) => !sent.has(id)))}
        />
      )}
      {asking === 'delete' && <Delete close={close} selection={selection} takes={chosen} />}
    </>
  )
}

function Organize({ close, ids, selection }: { close(): void; ids: string[]; selection: Selection }) {
  const words = useWords()
  const say = useToast()
  const write = useWrite<{ meta: { updatedCount: number } }>(({ meta }) => {
    say(words.library.changed(meta.updatedCount))
    selection.clear()
    close()
  })
  const send = ({ addTags, folder, removeTags }: Record<string, unknown>): void =>
    write.mutate({
      body: {
        ...(folder === undefined ? {} : { folder }),
        ...((addTags as string[]).length > 0 ? { addTags } : {}),
        ...((removeTags as string[]).length > 0 ? { removeTags } : {}),
        recordingIds: ids,
      },
      method: 'PATCH',
      path: '/recordings/bulk-metadata',
    })
  return (
    <Dialog title={words.library.organize} close={close}>
      <Form error={write.error} pending={write.isPending} send={send}>
        <Field name="folder" label={words.library.folder} hint={words.library.folderKept} maxLength={240} />
        <Field name="addTags" kind="list" label={words.library.addTags} hint={words.library.commas} />
        <Field name="removeTags" kind="list" label={words.library.removeTags} hint={words.library.commas} />
      </Form>
    </Dialog>
  )
}

function Delete({ close, selection, takes }: { close(): void; selection: Selection; takes: readonly Recording[] }) {
  const words = useWords()
  const say = useToast()
  const write = useWrite<{ meta: { deletedCount: number } }>(({ meta }) => {
    say(words.library.deleted(meta.deletedCount))
    selection.clear()
    close()
  })
  const seconds = takes.reduce((sum, { durationSeconds }) => sum + durationSeconds, 0)
  const body = { recordingIds: takes.map(({ id }) => id) }
  return (
    <Confirm
      title={words.library.deleteTakes(takes.length)}
      deed={words.common.delete}
      close={close}
      confirm={() => write.mutate({ body, method: 'POST', path: '/recordings/bulk-delete' })}
      error={write.error}
      pending={write.isPending}
      {...(takes.length > MANY ? { typed: String(takes.length) } : {})}
    >
      <p>{words.library.noWayBack(lengthOf(seconds))}</p>
    </Confirm>
  )
}
