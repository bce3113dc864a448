import type { ComponentChildren } from 'preact'
import type { Node } from '../../wire/nodes.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { useWrite } from '../data/reads.ts'
import { instantOf } from '../time/format.rules.ts'
import { Failure } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { usePublicUrl } from './address.tsx'

export interface IssueProps {
  /** Of the controller, as the box is to reach it. */
  address: string
  node: Node
}

interface HowProps<T> extends IssueProps {
  children(told: T): ComponentChildren
  make(told: boolean): string
  what: 'bootstrap-token' | 'pairing-code'
}

/** What lets a box in, once: made at a click, shown with its end. */
export function IssueToken<T>({ address, children, make, node, what }: HowProps<T>) {
  const words = useWords()
  const { timeFormat } = useApp()
  const own = usePublicUrl()
  const write = useWrite<{ data: T & { expiresAt: string } }>()
  const told = write.data?.data
  return (
    <>
      {told && (
        <>
          {children(told)}
          <p class={ui.quiet}>{words.onboard.expires(instantOf(told.expiresAt, timeFormat))}</p>
        </>
      )}
      {write.error && <Failure error={write.error} />}
      <div class={ui.row}>
        <ActionButton
          needs="node:manage"
          roomId={node.roomId}
          disabled={write.isPending}
          onClick={() =>
            write.mutate({
              // Untouched it is left to the controller, which may have a public address of its own.
              body: address === own ? {} : { controllerUrl: address },
              method: 'POST',
              path: `/nodes/${encodeURIComponent(node.id)}/${what}`,
            })
          }
        >
          {make(told !== undefined)}
        </ActionButton>
      </div>
    </>
  )
}
