import { useApp } from '../app/context.ts'
import { instantAt } from '../time/wall.rules.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Area, Field, Form } from '../ui/form.tsx'
import { useWords } from '../words/words.ts'

interface SuppressProps {
  close(): void
  error: Error | null
  pending: boolean
  send(body: Record<string, unknown>): void
}

/** Until when an alert keeps silent, and why. */
export function SuppressDialog({ close, error, pending, send }: SuppressProps) {
  const words = useWords()
  const { clockwork } = useApp()
  const given = ({ note, until }: Record<string, unknown>): void =>
    send({
      ...(note === undefined ? {} : { note }),
      suppressedUntil: until === undefined ? null : instantAt(String(until), clockwork.zone),
    })
  return (
    <Dialog title={words.alerts.moves.suppress} close={close}>
      <Form error={error} pending={pending} send={given} submit={words.alerts.moves.suppress}>
        <Field name="until" type="datetime-local" label={words.alerts.until} hint={clockwork.zone} />
        <Area name="note" label={words.alerts.note} maxLength={1000} />
      </Form>
    </Dialog>
  )
}
