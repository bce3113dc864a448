import type { AuditEvent } from '../../wire/audit.ts'
import type { ChangeKind } from '../../wire/changes.ts'
import { HistoryLink } from '../app/actionbutton.tsx'
import { actionText, actorText } from '../audit/action.rules.ts'
import { useNode, useRead } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { classes, Loading, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** A recorder acts under its id; who may see it reads its name. */
function Who({ actor }: { actor: AuditEvent['actor'] }) {
  const words = useWords()
  const node = useNode(actor.type === 'node' ? actor.id : undefined)
  return <Name>{words.take.by(node.data?.data.alias ?? actorText(actor, words))}</Name>
}

/** Who did what to one thing; `kinds`: the changes that make it longer. */
export function History({ id, kinds }: { id: string; kinds: readonly ChangeKind[] }) {
  const words = useWords()
  const events = useRead<{ data: AuditEvent[] }>(
    `/audit-events?target=${encodeURIComponent(id)}&outcome=succeeded&changes=1&limit=50`,
    kinds,
  )
  return (
    <Section title={words.take.history} aside={<HistoryLink target={id} />}>
      <Loading of={events}>
        {({ data }) => {
          if (data.length === 0) return <p class={ui.quiet}>{words.take.noHistory}</p>
          return (
            <ul class={ui.rows}>
              {data.map(({ action, actor, createdAt, id: eventId }) => (
                <li key={eventId} class={ui.row}>
                  <span class={ui.grow} title={action}>
                    {actionText(action, words)}
                  </span>
                  <Who actor={actor} />
                  <span class={classes(ui.small, ui.quiet)}>
                    <When at={createdAt} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }}
      </Loading>
    </Section>
  )
}
