import { Link } from 'wouter-preact'
import type { Recording } from '../../wire/recordings.ts'
import { lengthOf } from '../time/format.rules.ts'
import { useElapsed, When } from '../time/when.tsx'
import { Badge, classes, Name } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** Takes, one a row, each leading to its page. */
export function TakeRows({ empty, takes }: { empty: string; takes: readonly Recording[] }) {
  if (takes.length === 0) return <p class={ui.quiet}>{empty}</p>
  return (
    <ul class={ui.rows}>
      {takes.map((take) => (
        <li key={take.id} class={ui.row}>
          <Link class={ui.grow} href={`/library/${encodeURIComponent(take.id)}`}>
            <Name>{take.name}</Name>
          </Link>
          <span class={classes(ui.small, ui.quiet)}>
            <When at={take.recordedAt} />
          </span>
          <span class={classes(ui.small, ui.numbers)}>
            <Length take={take} />
          </span>
          <TakeState take={take} />
        </li>
      ))}
    </ul>
  )
}

/** A running take counts on. */
export const Length = ({ take }: { take: Recording }) => (
  <span>{take.status === 'recording' ? <Elapsed since={take.recordedAt} /> : lengthOf(take.durationSeconds)}</span>
)

const Elapsed = ({ since }: { since: string }) => <span>{useElapsed(since)}</span>

export function TakeState({ take: { progress, status } }: { take: Recording }) {
  const words = useWords()
  const stage = progress && progress.stage !== 'capturing' ? words.stage[progress.stage] : undefined
  const word = stage ? `${stage} ${Math.round(progress?.percent ?? 0)} %` : (words.status[status] ?? status)
  return <Badge state={status} word={word} />
}
