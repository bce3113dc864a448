import type { Check, NodeDoctor } from '../../wire/doctor.ts'
import type { Node } from '../../wire/nodes.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Badge, classes, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** What the recorder finds wrong with itself, now or when it was last asked. */
export function Doctor({ node }: { node: Node }) {
  const words = useWords()
  const { me } = useApp()
  const path = `/nodes/${encodeURIComponent(node.id)}/doctor`
  const last = useRead<{ data: NodeDoctor | null }>(
    may(me, 'node:manage', node.roomId) ? `${path}?last=1` : undefined,
    ['node'],
  )
  const asking = useWrite()
  return (
    <Section title={words.recorders.doctor.title}>
      <div class={ui.row}>
        <ActionButton
          needs="node:manage"
          roomId={node.roomId}
          disabled={asking.isPending}
          onClick={() => asking.mutate({ method: 'GET', path })}
        >
          {words.recorders.doctor.deed}
        </ActionButton>
        <span role="status" class={classes(ui.small, ui.quiet)}>
          {asking.isPending && words.recorders.doctor.asking}
        </span>
      </div>
      {asking.error && <Failure error={asking.error} />}
      {may(me, 'node:manage', node.roomId) && (
        <Loading of={last}>
          {({ data }) => (data ? <Report of={data} /> : <p class={ui.quiet}>{words.recorders.doctor.none}</p>)}
        </Loading>
      )}
    </Section>
  )
}

/** What is wrong comes first; within that, the order of the doctor. */
const ORDER: readonly Check['status'][] = ['fail', 'warn', 'ok', 'skipped']
const STATES: Record<Check['status'], string> = { fail: 'critical', ok: 'online', skipped: 'skipped', warn: 'warning' }

function Report({ of: { checks, madeAt } }: { of: NodeDoctor }) {
  const words = useWords()
  const sorted = ORDER.flatMap((status) => checks.filter((check) => check.status === status))
  const well = checks.every(({ status }) => status === 'ok' || status === 'skipped')
  return (
    <>
      <p>
        {words.recorders.doctor.made} <When at={madeAt} />
        {well && `. ${words.recorders.doctor.allWell}`}
      </p>
      <ul class={ui.rows}>
        {sorted.map((check) => (
          <CheckRow key={check.id} check={check} />
        ))}
      </ul>
    </>
  )
}

/** Words, and a command on a line of its own, to be copied as a whole. */
function Fix({ of }: { of: string }) {
  const [first = '', ...lines] = of.split('\n')
  return (
    <>
      <Name>{first}</Name>
      {lines.length > 0 && <pre class={ui.output}>{lines.join('\n')}</pre>}
    </>
  )
}

function CheckRow({ check: { fix, id, message, status } }: { check: Check }) {
  const { doctor } = useWords().recorders
  return (
    <li class={ui.stack}>
      <div class={ui.row}>
        <strong class={ui.grow} title={id}>
          {doctor.checks[id] ?? id}
        </strong>
        <Badge state={STATES[status]} word={doctor.statuses[status] ?? status} />
      </div>
      {/* The recorder speaks English, as its logs and commands do. */}
      <span lang="en">
        <Name>{message}</Name>
      </span>
      {fix && (status === 'fail' || status === 'warn') && (
        <div>
          {doctor.fix}:{' '}
          <div lang="en">
            <Fix of={fix} />
          </div>
        </div>
      )}
    </li>
  )
}
