import type { ComponentChildren, ComponentProps } from 'preact'
import { useApp } from '../app/context.ts'
import { hostOf, isLocal } from '../data/address.rules.ts'
import { Field } from '../ui/form.tsx'
import { classes } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** Where the controller is for boxes and phones: where it says it is, else where this console was opened. */
export const usePublicUrl = (): string => (useApp().me.site.publicUrl ?? location.origin).replace(/\/+$/, '')

type Given = Pick<ComponentProps<typeof Field>, 'onInput'> & { children?: ComponentChildren; value: string }

/** Said beside an address that other machines are to use and cannot. */
export function LocalWarning({ address, text }: { address: string; text: string }) {
  return isLocal(hostOf(address)) ? <p class={classes(ui.notice, ui.warn)}>{text}</p> : null
}

/** What is rarely another: the address by which the box reaches the controller, and what stands below it. */
export function Address({ children, onInput, value }: Given) {
  const words = useWords()
  return (
    <>
      <LocalWarning address={value} text={words.onboard.localhost} />
      <details>
        <summary>{words.onboard.optional}</summary>
        <div class={classes(ui.stack, ui.folded)}>
          <Field
            name="controllerUrl"
            type="url"
            label={words.onboard.address}
            required
            onInput={onInput}
            value={value}
          />
          {children}
        </div>
      </details>
    </>
  )
}

/** The wish of `POST /nodes/bootstrap-config`: a plain address needs to be said. */
export const setupWish = (controllerUrl: string, node: object) => ({
  allowInsecure: controllerUrl.startsWith('http:'),
  controllerUrl,
  nodes: [node],
})
