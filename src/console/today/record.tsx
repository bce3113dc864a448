import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import type { Recording } from '../../wire/recordings.ts'
import { useApp } from '../app/context.ts'
import { useWrite } from '../data/reads.ts'
import { NodePicker } from '../recorders/picker.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import { Button } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
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
        <Minutes />
      </Form>
    </Dialog>
  )
}

const QUICK_MINUTES = [30, 60, 90]

/** How long; what is left empty ends after the usual length of this controller. */
function Minutes() {
  const words = useWords()
  const { me } = useApp()
  const choose =
    (minutes: number) =>
    ({ currentTarget: { form } }: { currentTarget: HTMLButtonElement }): void => {
      const field = form?.elements.namedItem('minutes')
      if (field instanceof HTMLInputElement) field.value = String(minutes)
    }
  return (
    <>
      <Field
        name="minutes"
        type="number"
        min={1}
        max={44_640}
        label={words.today.minutes}
        hint={words.today.minutesHint(Math.round(me.site.defaultDurationSeconds / 60))}
      />
      <div class={ui.row}>
        {QUICK_MINUTES.map((minutes) => (
          <Button key={minutes} onClick={choose(minutes)}>
            {words.today.minutesChoice(minutes)}
          </Button>
        ))}
      </div>
    </>
  )
}
