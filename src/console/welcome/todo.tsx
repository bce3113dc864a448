import { Link } from 'wouter-preact'
import { useApp } from '../app/context.ts'
import { useRead, useStatus } from '../data/reads.ts'
import { Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { stepsLeft } from './steps.rules.ts'

/** First steps that were left out; nothing once they are done. */
export function ToDo() {
  const words = useWords()
  const { me } = useApp()
  // Where there is a recorder, there is no first room to be made.
  const empty = useStatus().data?.data.nodeCount === 0
  const rooms = useRead<{ data: unknown[] }>(empty ? '/rooms' : undefined, ['room', 'node'])
  const left = stepsLeft({
    choosesPassword: me.choosesPassword === true,
    hasRoom: !empty || rooms.data?.data.length !== 0,
    siteNamed: me.site.unnamed !== true,
  })
  if (left.length === 0) return null
  return (
    <Section title={words.welcome.toDo}>
      <ul class={ui.rows}>
        {left.map((step) => (
          <li key={step} class={ui.row}>
            <Link href={`/welcome?step=${step}`}>{words.welcome[step]}</Link>
          </li>
        ))}
      </ul>
    </Section>
  )
}
