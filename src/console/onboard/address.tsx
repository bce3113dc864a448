import type { ComponentChildren, ComponentProps } from 'preact'
import { Field } from '../ui/form.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

type Given = Pick<ComponentProps<typeof Field>, 'defaultValue' | 'onInput' | 'value'>

/** What is rarely another: the address by which the box reaches the controller, and what stands below it. */
export function Address({ children, ...given }: Given & { children?: ComponentChildren }) {
  const words = useWords()
  return (
    <details class={ui.stack}>
      <summary>{words.onboard.optional}</summary>
      <Field {...given} name="controllerUrl" type="url" label={words.onboard.address} required />
      {children}
    </details>
  )
}
