import { useId, useRef, useState } from 'preact/hooks'
import { useWords } from '../words/words.ts'
import { Button } from './parts.tsx'
import css from './ui.module.css'

/** A text to be taken along, once: copied where the browser allows it, else marked for copying by hand. */
export function Copyable({ label, text }: { label: string; text: string }) {
  const words = useWords()
  const id = useId()
  const ref = useRef<HTMLTextAreaElement>(null)
  const [said, setSaid] = useState('')
  const copy = async (): Promise<void> => {
    ref.current?.select()
    const done = await (navigator.clipboard?.writeText(text).then(() => true, byCommand) ?? byCommand())
    setSaid(done ? words.common.copied : words.common.copyByHand)
  }
  return (
    <div class={css.field}>
      <label for={id}>{label}</label>
      <textarea
        id={id}
        ref={ref}
        readOnly
        class={css.input}
        rows={Math.min(4, Math.ceil(text.length / 60))}
        value={text}
      />
      <div class={css.row}>
        <Button onClick={() => void copy()}>{words.common.copy}</Button>
        <span role="status">{said}</span>
      </div>
    </div>
  )
}

// Over plain http there is no clipboard: the old command may still do it.
const byCommand = (): boolean => document.execCommand('copy')
