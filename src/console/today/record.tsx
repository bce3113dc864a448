import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import type { Recording } from '../../wire/recordings.ts'
import { useWrite } from '../data/reads.ts'
import { NodePicker } from '../recorders/picker.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import { Button } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'

interface RecordProps {
  /** What is recorded, and its name; without it a recorder is chosen. */
  of?: { alias: string; what: object }
}

/** Starts a take now: which recorder, called what, how long. */
export function RecordButton({ of }: RecordProps) {
  const words = useWords()
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button icon="record" kind="primary" onClick={() => setOpen(true)}>
        {of ? words.today.recordOf(of.alias) : words.today.record}
      </Button>
      {open && <RecordDialog close={() => setOpen(false)} {...(of ? { of } : {})} />}
    </>
  )
}

function RecordDialog({ close, of }: RecordProps & { close(): void }) {
  const words = useWords()
  const [, go] = useLocation()
  const write = useWrite<{ data: Recording }>(({ data }) => go(`/library/${encodeURIComponent(data.id)}`))
  const send = ({ minutes, ...body }: Record<string, unknown>): void =>
    write.mutate({
      body: {
        ...of?.what,
        ...body,
        ...(minutes === undefined ? {} : { durationSeconds: Math.round(Number(minutes) * 60) }),
      },
      method: 'POST',
      path: '/recordings',
    })
  return (
    <Dialog title={of ? words.today.recordOf(of.alias) : words.today.record} close={close}>
      <Form error={write.error} pending={write.isPending} send={send} submit={words.today.record}>
        {!of && <NodePicker />}
        <Field name="name" label={words.take.name} maxLength={240} />
        <Field name="minutes" type="number" min={1} max={44_640} label={words.today.minutes} />
      </Form>
    </Dialog>
  )
}
