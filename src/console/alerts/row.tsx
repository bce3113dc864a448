import { Link } from 'wouter-preact'
import type { HealthEvent } from '../../wire/health.ts'
import { useNode } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Badge, classes, Name } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** What is only told is no risk. */
export const isRisk = ({ severity }: HealthEvent): boolean => severity !== 'info'

export function AlertRow({ event: { id, nodeId, openedAt, severity, type } }: { event: HealthEvent }) {
  const words = useWords()
  return (
    <li class={ui.row}>
      <Badge state={severity} word={words.severity[severity] ?? severity} />
      <Link class={ui.grow} href={`/alerts?open=${encodeURIComponent(id)}`}>
        {words.alert(type)}
      </Link>
      <span class={classes(ui.small, ui.quiet)}>
        <NodeName id={nodeId} />
      </span>
      <span class={classes(ui.small, ui.quiet)}>
        <When at={openedAt} soon />
      </span>
    </li>
  )
}

/** The name of a recorder; nothing without one, or for whom may not see it. */
export function NodeName({ id }: { id: string | undefined }) {
  const node = useNode(id)
  return node.data ? <Name>{node.data.data.alias}</Name> : null
}
