import { useState } from 'preact/hooks'
import type { NotificationRule } from '../../wire/notifications.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'
import { Delete } from '../settings/edit.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Badge, Button, classes, Facts, Loading, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import type { Words } from '../words/en.ts'
import { useWords } from '../words/words.ts'
import { useChannels } from './channels.tsx'
import { RuleForm } from './ruleform.tsx'
import { familyOf, RULES } from './rules.rules.ts'

export const useRules = () => useRead<{ data: NotificationRule[] }>(RULES, ['settings'])

/** Who is told of what. */
export function Rules() {
  const words = useWords()
  const { me } = useApp()
  const list = useRules()
  const channels = useChannels()
  const [editing, setEditing] = useState<NotificationRule | 'new'>()
  const [deleting, setDeleting] = useState<NotificationRule>()
  const close = (): void => setEditing(undefined)
  const changes = may(me, 'settings:manage')
  const none = channels.data?.data.length === 0
  return (
    <Section
      title={words.notifications.rules}
      aside={
        changes && (
          <ActionButton needs="settings:manage" disabled={none} onClick={() => setEditing('new')}>
            {words.notifications.newRule}
          </ActionButton>
        )
      }
    >
      <p class={ui.quiet}>{words.notifications.rulesExplained}</p>
      <Loading of={list}>
        {({ data }) => (
          <ul class={ui.rows}>
            {data.length === 0 && (
              <li class={ui.quiet}>{none ? words.notifications.channelFirst : words.notifications.noRules}</li>
            )}
            {data.map((rule) => (
              <li key={rule.id} class={ui.row}>
                <div class={ui.grow}>
                  <Name>{rule.name}</Name>
                  <p class={classes(ui.small, ui.quiet)}>
                    <Told rule={rule} />
                  </p>
                </div>
                {!rule.enabled && <Badge state="queued" word={words.schedule.off} />}
                <Button onClick={() => setEditing(rule)}>{changes ? words.common.edit : words.settings.view}</Button>
                {changes && (
                  <ActionButton kind="danger" needs="settings:manage" onClick={() => setDeleting(rule)}>
                    {words.common.delete}
                  </ActionButton>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loading>
      {editing === 'new' && <RuleForm close={close} />}
      {editing && editing !== 'new' && changes && <RuleForm close={close} rule={editing} />}
      {editing && editing !== 'new' && !changes && <RuleShown close={close} rule={editing} />}
      {deleting && (
        <Delete
          called={deleting.name}
          close={() => setDeleting(undefined)}
          path={`${RULES}/${encodeURIComponent(deleting.id)}`}
        />
      )}
    </Section>
  )
}

/** `Warnings and critical · Sound and supervision, room.* · 2 places · by Pager`. */
function Told({ rule }: { rule: NotificationRule }) {
  const words = useWords()
  const { channelId, escalateChannelId, minSeverity, nodeIds = [], roomIds = [], siteNames = [], types } = rule
  const places = nodeIds.length + roomIds.length + siteNames.length
  return (
    <>
      {[
        words.notifications.from[minSeverity],
        types.map((type) => kindsText(type, words)).join(', ') || words.notifications.onlyReport,
        ...(places > 0 ? [words.notifications.placeCount(places)] : []),
      ].join(' · ')}
      {' · '}
      <ChannelName id={channelId} />
      {escalateChannelId && (
        <>
          {' → '}
          <ChannelName id={escalateChannelId} />
        </>
      )}
    </>
  )
}

const kindsText = (type: string, { notifications }: Words): string => {
  const family = familyOf(type)
  return family ? notifications.families[family].name : type === '*' ? notifications.everything : type
}

/** A channel by its name; one that is gone says so. */
export function ChannelName({ id }: { id: string }) {
  const words = useWords()
  const { data } = useChannels()
  return data && <Name>{data.data.find((one) => one.id === id)?.name ?? words.notifications.gone}</Name>
}

/** What a rule says, for who may read it and not change it. */
function RuleShown({ close, rule }: { close(): void; rule: NotificationRule }) {
  const words = useWords()
  const { dailyReport, escalateAfterSeconds, escalateChannelId, includeResolved, quietHours, throttleSeconds } = rule
  const { notifications, settings } = words
  return (
    <Dialog title={rule.name} close={close}>
      <p>
        <Told rule={rule} />
      </p>
      <Facts
        of={[
          [notifications.resolved, settings.values[includeResolved ? 'on' : 'off']],
          [notifications.throttle, String(throttleSeconds / 60)],
          [notifications.escalate, escalateChannelId && <ChannelName key="channel" id={escalateChannelId} />],
          [notifications.escalateAfter, escalateAfterSeconds && String(escalateAfterSeconds / 60)],
          [notifications.quiet, quietHours && `${quietHours.from}–${quietHours.to}, ${quietHours.timezone}`],
          [notifications.daily, dailyReport && `${dailyReport.time}, ${dailyReport.timezone}`],
        ]}
      />
    </Dialog>
  )
}
