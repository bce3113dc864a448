import type { HealthEvent } from '../../wire/health.ts'
import { When } from '../time/when.tsx'
import { Badge, classes } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** What is only told is no risk. */
export const isRisk = ({ severity }: HealthEvent): boolean => severity !== 'info'

export function AlertRow({ event: { openedAt, severity, type } }: { event: HealthEvent }) {
  const words = useWords()
  return (
    <li class={ui.row}>
      <Badge state={severity} word={words.severity[severity] ?? severity} />
      <span class={ui.grow}>{words.alert(type)}</span>
      <span class={classes(ui.small, ui.quiet)}>
        <When at={openedAt} />
      </span>
    </li>
  )
}
