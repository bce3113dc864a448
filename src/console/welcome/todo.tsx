import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { useApp } from '../app/context.ts'
import { keep, kept } from '../data/kept.ts'
import { useRead, useStatus } from '../data/reads.ts'
import { Button, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { stepsLeft } from './steps.rules.ts'

/** First steps that were left out; nothing once they are done. */
export function ToDo() {
  const words = useWords()
  const { me } = useApp()
  // Where there is a recorder, there is no first room to be made.
  const recorders = useStatus().data?.data.nodeCount
  const empty = recorders === 0
  const rooms = useRead<{ data: unknown[] }>(empty ? '/rooms' : undefined, ['room', 'node'])
  const left = stepsLeft({
    choosesPassword: me.choosesPassword === true,
    hasRoom: !empty || rooms.data?.data.length !== 0,
    siteNamed: me.site.unnamed !== true,
  })
  if (left.length === 0) return recorders ? <NobodyTold /> : null
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

const TOLD = 'roomtone.told'

/** Once there is something to be told of: that nobody is. This browser asks no more once there was a rule, or none is wanted. */
function NobodyTold() {
  const words = useWords()
  const [over, setOver] = useState(() => kept(TOLD) !== null)
  const rules = useRead<{ data: unknown[] }>(over ? undefined : '/settings/notification-rules', ['settings'])
  const count = rules.data?.data.length
  const end = (): void => {
    keep(TOLD, '1')
    setOver(true)
  }
  useEffect(() => {
    if (count) end()
  }, [count])
  if (over || count !== 0) return null
  return (
    <Section title={words.welcome.toDo}>
      <div class={ui.row}>
        <Link class={ui.grow} href="/settings/notifications">
          {words.notifications.toDo}
        </Link>
        <Button onClick={end}>{words.notifications.dismiss}</Button>
      </div>
    </Section>
  )
}
