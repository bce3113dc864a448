import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { HealthMove } from '../../wire/health.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { instantAt } from '../time/wall.rules.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Area, Field, Form } from '../ui/form.tsx'
import { Failure } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

interface MovesProps {
  /** Beside the buttons. */
  children?: ComponentChildren
  disabled?: boolean
  moves: readonly HealthMove[]
  roomId?: string | undefined
  /** `done` closes the question that stood before the move. */
  send(action: HealthMove, body: Record<string, unknown>, done: () => void): void
  write: { error: Error | null; isPending: boolean; reset(): void }
}

/** What can be done with alerts; silencing asks until when, and below stands why the last move failed. */
export function Moves({ children, disabled = false, moves, roomId, send, write }: MovesProps) {
  const words = useWords()
  const [suppressing, setSuppressing] = useState(false)
  const done = (): void => setSuppressing(false)
  const close = (): void => {
    done()
    write.reset()
  }
  return (
    <>
      <div class={ui.row}>
        {children}
        {moves.map((action) => (
          <ActionButton
            key={action}
            needs="health:acknowledge"
            roomId={roomId}
            disabled={disabled || write.isPending}
            onClick={() => (action === 'suppress' ? setSuppressing(true) : send(action, {}, done))}
          >
            {words.alerts.moves[action]}
          </ActionButton>
        ))}
      </div>
      {suppressing ? (
        <SuppressDialog
          close={close}
          error={write.error}
          pending={write.isPending}
          send={(body) => send('suppress', body, done)}
        />
      ) : (
        write.error && <Failure error={write.error} />
      )}
    </>
  )
}

interface SuppressProps {
  close(): void
  error: Error | null
  pending: boolean
  send(body: Record<string, unknown>): void
}

/** Until when an alert keeps silent, and why. */
function SuppressDialog({ close, error, pending, send }: SuppressProps) {
  const words = useWords()
  const { timeFormat } = useApp()
  const given = ({ note, suppressedUntil: until }: Record<string, unknown>): void =>
    send({
      ...(note === undefined ? {} : { note }),
      suppressedUntil: until === undefined ? null : instantAt(String(until), timeFormat.zone),
    })
  return (
    <Dialog title={words.alerts.moves.suppress} close={close}>
      <Form error={error} pending={pending} send={given} submit={words.alerts.moves.suppress}>
        <Field name="suppressedUntil" type="datetime-local" label={words.alerts.until} hint={timeFormat.zone} />
        <Area name="note" label={words.alerts.note} maxLength={1000} />
      </Form>
    </Dialog>
  )
}
