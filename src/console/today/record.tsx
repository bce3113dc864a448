import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import type { Node } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import { useWrite } from '../data/reads.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import { Button } from '../ui/parts.tsx'
import { Picker } from '../ui/picker.tsx'
import { useWords } from '../words/words.ts'

/** Starts a take now: which recorder, called what, how long. */
export function RecordButton() {
  const words = useWords()
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button icon="record" kind="primary" onClick={() => setOpen(true)}>
        {words.today.record}
      </Button>
      {open && <RecordDialog close={() => setOpen(false)} />}
    </>
  )
}

function RecordDialog({ close }: { close(): void }) {
  const words = useWords()
  const [, go] = useLocation()
  const write = useWrite<{ data: Recording }>(({ data }) => go(`/library/${encodeURIComponent(data.id)}`))
  const send = ({ minutes, ...body }: Record<string, unknown>): void =>
    write.mutate({
      body: { ...body, ...(minutes === undefined ? {} : { durationSeconds: Math.round(Number(minutes) * 60) }) },
      method: 'POST',
      path: '/recordings',
    })
  return (
    <Dialog title={words.today.record} close={close}>
      <Form error={write.error} pending={write.isPending} send={send} submit={words.today.record}>
        <Picker<Node>
          name="nodeId"
          label={words.take.recorder}
          kinds={['node']}
          option={({ alias, id, location }) => ({ detail: `${location.site}, ${location.room}`, id, name: alias })}
          path={(search) => `/nodes?limit=20${search ? `&q=${encodeURIComponent(search)}` : ''}`}
          required
        />
        <Field name="name" label={words.take.name} maxLength={240} />
        <Field name="minutes" type="number" min={1} max={44_640} label={words.today.minutes} />
      </Form>
    </Dialog>
  )
}
