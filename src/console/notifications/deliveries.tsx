import { Link } from 'wouter-preact'
import type { Delivery } from '../../wire/notifications.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { saidText } from '../ui/fault.rules.ts'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Badge, classes, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import { type Column, type PageMeta, Pager, Table } from '../ui/table.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { useChannels } from './channels.tsx'
import { ChannelName, useRules } from './rules.tsx'

const SIZE = 50

/** What was sent, what waits, and what did not arrive; newest first. */
export function Deliveries() {
  const words = useWords()
  const filters = useFilters(['channelId', 'ruleId', 'status', 'healthEventId'])
  const channels = useChannels()
  const rules = useRules()
  const list = useRead<{ data: Delivery[]; meta: PageMeta }>(`/notifications?${filters.query(SIZE)}`, ['notifications'])
  const named = (things: readonly { id: string; name: string }[] = []) =>
    things.map(({ id, name }) => [id, name] as const)
  return (
    <>
      <FilterBar
        filters={filters}
        choices={[
          { label: words.notifications.channel, name: 'channelId', options: named(channels.data?.data) },
          { label: words.notifications.rule, name: 'ruleId', options: named(rules.data?.data) },
          { label: words.alerts.status, name: 'status', options: Object.entries(words.notifications.status) },
        ]}
      />
      <Loading of={list}>
        {({ data, meta }) => (
          <Section title={words.notifications.deliveries}>
            <Rows deliveries={data} />
            <Pager go={filters.go} meta={meta} size={SIZE} />
          </Section>
        )}
      </Loading>
    </>
  )
}

function Rows({ deliveries }: { deliveries: readonly Delivery[] }) {
  const words = useWords()
  const { me } = useApp()
  const say = useToast()
  const retry = useWrite(() => say(words.notifications.again))
  const { notifications } = words
  const columns: Column<Delivery>[] = [
    { cell: ({ createdAt }) => <When at={createdAt} />, head: notifications.when },
    { cell: (one) => <What of={one} />, head: notifications.what },
    { cell: ({ channelId }) => <ChannelName id={channelId} />, head: notifications.channel },
    { cell: (one) => <State of={one} />, head: words.alerts.status },
  ]
  const again: Column<Delivery> = {
    cell: ({ id, status }) =>
      status === 'failed' && (
        <ActionButton
          needs="settings:manage"
          disabled={retry.isPending}
          onClick={() => retry.mutate({ method: 'POST', path: `/notifications/${encodeURIComponent(id)}/retry` })}
        >
          {notifications.retry}
        </ActionButton>
      ),
    head: words.common.actions,
  }
  return (
    <>
      {retry.error && <Failure error={retry.error} />}
      <Table
        caption={notifications.deliveries}
        columns={may(me, 'settings:manage') ? [...columns, again] : columns}
        empty={notifications.noDeliveries}
        rows={deliveries}
      />
    </>
  )
}

/** What it tells, which is the way to its alert, and by which rule. */
function What({ of }: { of: Delivery }) {
  const words = useWords()
  const { eventType, healthEventId, kind } = of
  const kindWord = words.notifications.deliveryKinds[kind]
  const word = eventType === undefined ? kindWord : words.alert(eventType)
  return (
    <>
      {healthEventId ? <Link href={`/alerts?open=${encodeURIComponent(healthEventId)}`}>{word}</Link> : word}
      <div class={classes(ui.small, ui.quiet)}>
        {word !== kindWord && <>{kindWord} </>}
        <Teller of={of} />
      </div>
    </>
  )
}

/** The rule that told it, or whose own mail it is. */
function Teller({ of: { ruleId, userId } }: { of: Delivery }) {
  const words = useWords()
  const { me } = useApp()
  const rules = useRules()
  if (userId) return <>{userId === me.id ? words.notifications.ownMail : words.notifications.peoplesMail}</>
  if (!ruleId) return null
  return rules.data ? (
    <Name>{rules.data.data.find(({ id }) => id === ruleId)?.name ?? words.notifications.gone}</Name>
  ) : null
}

/** After this long it is worth saying when it was sent, ms. */
const LATE_MS = 60_000

/** How it went, or goes on. */
function State({ of: { attempts, createdAt, lastError, nextAttemptAt, sentAt, status } }: { of: Delivery }) {
  const words = useWords()
  const { api } = useApp()
  const late = sentAt && Date.parse(sentAt) - Date.parse(createdAt) > LATE_MS && sentAt
  const next = status === 'queued' && nextAttemptAt && Date.parse(nextAttemptAt) > api.now() && nextAttemptAt
  return (
    <>
      <Badge state={status} word={words.notifications.status[status]} />
      <div class={ui.small}>
        {late && <When at={late} />}
        {next && (
          <>
            {words.notifications.nextAt} <When at={next} soon />
          </>
        )}
        {attempts > 1 && <> {words.notifications.attempts(attempts)}</>}
      </div>
      {lastError && (
        <div class={ui.small}>
          <Name>{saidText(lastError, words)}</Name>
        </div>
      )}
    </>
  )
}
