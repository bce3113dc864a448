import { Link } from 'wouter-preact'
import type { ControllerSettings } from '../../wire/settings.ts'
import { useApp } from '../app/context.ts'
import { useRead } from '../data/reads.ts'
import { Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { stepsLeft } from './steps.rules.ts'

/** First steps that were left out; nothing once they are done. */
export function ToDo() {
  const words = useWords()
  const { me } = useApp()
  const settings = useRead<{ data: ControllerSettings }>('/settings/controller', ['settings'])
  const rooms = useRead<{ data: unknown[] }>('/rooms', ['room', 'node'])
  if (!settings.data || !rooms.data) return null
  const { siteName } = settings.data.data
  const left = stepsLeft({ choosesPassword: me.choosesPassword === true, rooms: rooms.data.data.length, siteName })
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
