import type { JSX } from 'preact'
import { Link } from 'wouter-preact'
import type { Recording } from '../../wire/recordings.ts'
import { lengthOf } from '../time/format.rules.ts'
import { useElapsed, When } from '../time/when.tsx'
import { Badge, classes, Name } from '../ui/parts.tsx'
import type { Selection } from '../ui/table.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { hasNotBegun } from './sound.rules.ts'

interface TakeRowsProps {
  empty: string
  selection?: Selection
  takes: readonly Recording[]
}

/** Takes, one a row, each leading to its page. */
export function TakeRows({ empty, selection, takes }: TakeRowsProps) {
  const words = useWords()
  if (takes.length === 0) return <p class={ui.quiet}>{empty}</p>
  const all = takes.every(({ id }) => selection?.ids.has(id))
  return (
    <ul class={ui.rows} onKeyDown={moveAlong}>
      {selection?.active && (
        <li>
          <label class={ui.row}>
            <input type="checkbox" checked={all} onChange={() => selection.set(all ? [] : takes.map(({ id }) => id))} />
            {words.common.selectAll}
          </label>
        </li>
      )}
      {takes.map((take) => (
        <li key={take.id} class={ui.row}>
          {selection?.active && (
            <input
              type="checkbox"
              aria-label={words.common.selectRow(take.name)}
              checked={selection.ids.has(take.id)}
              onChange={() => selection.toggle(take.id)}
            />
          )}
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

/** Up and down go from link to link; space opens what is there. */
function moveAlong(e: JSX.TargetedKeyboardEvent<HTMLUListElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key]
  const links = [...e.currentTarget.querySelectorAll('a')]
  const at = links.indexOf(e.target as HTMLAnchorElement)
  if (at < 0 || (step === undefined && e.key !== ' ')) return
  e.preventDefault()
  if (step === undefined) links[at]?.click()
  else links[at + step]?.focus()
}

/** A running take counts on. */
export const Length = ({ take }: { take: Recording }) => (
  <span>
    {take.status === 'recording' && !hasNotBegun(take) ? (
      <Elapsed since={take.recordedAt} />
    ) : (
      lengthOf(take.durationSeconds)
    )}
  </span>
)

const Elapsed = ({ since }: { since: string }) => <span>{useElapsed(since)}</span>

export function TakeState({ take }: { take: Recording }) {
  const words = useWords()
  const { progress } = take
  const status = hasNotBegun(take) ? 'queued' : take.status
  const stage = progress && progress.stage !== 'capturing' ? words.stage[progress.stage] : undefined
  const word = stage ? `${stage} ${Math.round(progress?.percent ?? 0)} %` : (words.status[status] ?? status)
  return <Badge state={stage ? 'working' : status} word={word} />
}
