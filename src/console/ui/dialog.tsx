import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { useWords } from '../words/words.ts'
import { Field } from './form.tsx'
import { Button, Failure } from './parts.tsx'
import { useRefusal } from './refusal.ts'
import css from './ui.module.css'

interface DialogProps {
  children: ComponentChildren
  close(): void
  title: string
}

/** A modal dialog, there as long as it is rendered: escape and the button close it. */
export function Dialog({ children, close, title }: DialogProps) {
  const words = useWords()
  const id = useId()
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const [before, dialog] = [document.activeElement, ref.current]
    dialog?.showModal()
    return () => {
      // Who has gone on meanwhile stays where they are.
      const now = document.activeElement
      if (now !== document.body && !dialog?.contains(now)) return
      // What opened it may be gone with what it was about.
      const back = before instanceof HTMLElement && before.isConnected ? before : document.querySelector('main')
      back?.focus()
    }
  }, [])
  return (
    <dialog ref={ref} class={css.dialog} aria-labelledby={id} onClose={close}>
      <div class={css.stack}>
        <div class={css.heading}>
          <h2 id={id}>{title}</h2>
          <Button aria-label={words.common.close} icon="close" onClick={() => ref.current?.close()} />
        </div>
        {children}
      </div>
    </dialog>
  )
}

interface ConfirmProps {
  children?: ComponentChildren
  close(): void
  confirm(): void
  /** What the button does, as a verb: never "OK". */
  deed: string
  error?: Error | null
  pending?: boolean
  title: string
  /** A name that must be typed: for what ends a recorder or many takes. */
  typed?: string
}

/** Says what will happen before it does; the safe button has the focus. */
export function Confirm({ children, close, confirm, deed, error, pending, title, typed }: ConfirmProps) {
  const words = useWords()
  const refused = useRefusal()()
  const [text, setText] = useState('')
  return (
    <Dialog title={title} close={close}>
      {children}
      {typed !== undefined && (
        <Field
          name="typed"
          label={words.common.typeName(typed)}
          value={text}
          autocomplete="off"
          onInput={(e) => setText(e.currentTarget.value)}
        />
      )}
      {error && <Failure error={error} />}
      <div class={css.row}>
        <Button autofocus={typed === undefined} onClick={close}>
          {words.common.cancel}
        </Button>
        <Button
          kind="danger"
          refused={refused}
          disabled={pending || (typed !== undefined && text !== typed)}
          onClick={confirm}
        >
          {deed}
        </Button>
      </div>
    </Dialog>
  )
}
