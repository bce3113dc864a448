import { useState } from 'preact/hooks'
import type { ChannelTest, NotificationRule } from '../../wire/notifications.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Delete, Edit } from '../settings/edit.tsx'
import { Shown } from '../settings/shown.tsx'
import { When } from '../time/when.tsx'
import { saidText } from '../ui/fault.rules.ts'
import { Badge, Button, classes, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { CHANNELS, type Channel, rulesOf, USUAL } from './channels.rules.ts'
import { RULES } from './rules.rules.ts'

const pathOf = (id: string): string => `${CHANNELS.path}/${encodeURIComponent(id)}`

/** The ways people and programs can be told, how each of them fares, and whether it works now. */
export const useChannels = () => useRead<{ data: Channel[] }>(CHANNELS.path, ['settings', 'notifications'])

export function Channels() {
  const words = useWords()
  const { me } = useApp()
  const list = useChannels()
  const [editing, setEditing] = useState<Channel | 'new'>()
  const [deleting, setDeleting] = useState<Channel>()
  const close = (): void => setEditing(undefined)
  const changes = may(me, CHANNELS.write)
  return (
    <Section
      title={words.notifications.channels}
      aside={
        changes && (
          <ActionButton needs={CHANNELS.write} onClick={() => setEditing('new')}>
            {words.notifications.newChannel}
          </ActionButton>
        )
      }
    >
      <p class={ui.quiet}>{words.notifications.channelsExplained}</p>
      <Loading of={list}>
        {({ data }) => (
          <ul class={ui.rows}>
            {data.length === 0 && <li class={ui.quiet}>{words.notifications.noChannels}</li>}
            {data.map((channel) => (
              <Row key={channel.id} channel={channel} edit={setEditing} remove={setDeleting} />
            ))}
          </ul>
        )}
      </Loading>
      {editing === 'new' && (
        <Edit close={close} family={CHANNELS} model={USUAL} title={words.notifications.newChannel} />
      )}
      {editing && editing !== 'new' && changes && (
        <Edit close={close} family={CHANNELS} thing={editing} used={<Used id={editing.id} />} />
      )}
      {editing && editing !== 'new' && !changes && <Shown close={close} family={CHANNELS} thing={editing} />}
      {deleting && (
        <Delete called={deleting.name} close={() => setDeleting(undefined)} path={pathOf(deleting.id)}>
          <Used id={deleting.id} />
        </Delete>
      )}
    </Section>
  )
}

interface RowProps {
  channel: Channel
  edit(channel: Channel): void
  remove(channel: Channel): void
}

function Row({ channel, edit, remove }: RowProps) {
  const words = useWords()
  const { me } = useApp()
  const { enabled, id, lastError, name, status } = channel
  const test = useWrite<{ data: ChannelTest }>()
  const changes = may(me, CHANNELS.write)
  return (
    <li class={ui.entry}>
      <div class={ui.row}>
        <div class={ui.grow}>
          <Name>{name}</Name>
          <Way of={channel} />
        </div>
        <Badge state={status} word={words.notifications.channelStatus[status]} />
        {changes && (
          <ActionButton
            needs={CHANNELS.write}
            disabled={test.isPending}
            onClick={() => test.mutate({ method: 'POST', path: `${pathOf(id)}/test` })}
          >
            {words.notifications.test}
          </ActionButton>
        )}
        <Button onClick={() => edit(channel)}>{changes ? words.common.edit : words.settings.view}</Button>
        {changes && (
          <ActionButton kind="danger" needs={CHANNELS.write} onClick={() => remove(channel)}>
            {words.common.delete}
          </ActionButton>
        )}
      </div>
      {enabled && lastError && lastError !== test.data?.data.error && (
        <p class={ui.bad}>
          {words.notifications.lastError} <Name>{saidText(lastError, words)}</Name>
        </p>
      )}
      <Tested error={test.error} pending={test.isPending} result={test.data?.data} />
    </li>
  )
}

/** What it is, and when it was last of use. */
function Way({ of: { forPeople, kind, lastSentAt } }: { of: Channel }) {
  const words = useWords()
  return (
    <p class={classes(ui.small, ui.quiet)}>
      {[words.settings.values[kind], forPeople && words.notifications.carriesPeople].filter(Boolean).join(' · ')}
      {' · '}
      {lastSentAt ? (
        <>
          {words.notifications.lastSent} <When at={lastSentAt} />
        </>
      ) : (
        words.notifications.neverSent
      )}
    </p>
  )
}

interface TestedProps {
  error: Error | null
  pending: boolean
  result: ChannelTest | undefined
}

/** How a test goes, and how it went: there from the beginning, so that it is read out. */
function Tested({ error, pending, result }: TestedProps) {
  const words = useWords()
  const why = result?.error && <Name>{saidText(result.error, words)}</Name>
  return (
    <>
      <div role="status" class={ui.stack}>
        {pending && (
          <p>
            <progress aria-label={words.notifications.testing} /> {words.notifications.testing}
          </p>
        )}
        {!pending && result && (
          <p class={result.ok ? ui.good : ui.bad}>
            {result.ok ? words.notifications.tested : words.notifications.notTested} {why}
          </p>
        )}
      </div>
      {error && <Failure error={error} />}
    </>
  )
}

/** Which rules tell by a channel, before it is changed or deleted. */
function Used({ id }: { id: string }) {
  const words = useWords()
  const rules = useRead<{ data: NotificationRule[] }>(RULES, ['settings'])
  const names = rules.data && rulesOf(id, rules.data.data)
  return (
    names && (
      <p class={ui.small}>
        {words.notifications.usedByRules(names.length)} <Name>{names.join(', ')}</Name>
      </p>
    )
  )
}
