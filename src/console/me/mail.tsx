import { Link } from 'wouter-preact'
import type { MyNotifications } from '../../wire/notifications.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Choice, Form, Tick } from '../ui/form.tsx'
import { classes, Loading, Section } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

const PATH = '/auth/me/notifications'

/** Whether alerts are told by mail to the own address. */
export function AlertMail() {
  const words = useWords()
  const mine = useRead<{ data: MyNotifications }>(PATH, ['settings', 'user'])
  return (
    <Section title={words.notifications.mail}>
      <Loading of={mine}>
        {({ data: { email, undelivered } }) => (
          <>
            {undelivered === 'nothing_to_read' && (
              <p class={classes(ui.notice, ui.warn)}>{words.notifications.unreadable}</p>
            )}
            {undelivered === 'no_channel' && <Undelivered />}
            <Wishes key={JSON.stringify(email)} email={email} />
          </>
        )}
      </Loading>
    </Section>
  )
}

/** What is asked for would not be sent, and who can change that. */
function Undelivered() {
  const words = useWords()
  const { me } = useApp()
  return (
    <p class={classes(ui.notice, ui.warn)}>
      {words.notifications.undelivered}
      {may(me, 'settings:manage') && <Link href="/settings/notifications">{words.notifications.setUp}</Link>}
    </p>
  )
}

function Wishes({ email: { enabled, minSeverity } }: Pick<MyNotifications, 'email'>) {
  const words = useWords()
  const { me } = useApp()
  const say = useToast()
  const write = useWrite(() => say(words.common.saved))
  return (
    <Form
      error={write.error}
      pending={write.isPending}
      send={(body) => write.mutate({ body, method: 'PATCH', path: PATH })}
    >
      <Tick
        name="email.enabled"
        label={words.notifications.mailMe}
        hint={words.notifications.mailTo(me.email)}
        defaultChecked={enabled}
      />
      <Choice
        name="email.minSeverity"
        label={words.notifications.mailFrom}
        chosen={minSeverity}
        options={Object.entries(words.notifications.from)}
      />
    </Form>
  )
}
