import { useApp } from '../app/context.ts'
import { SettingsTabs } from '../settings/tabs.tsx'
import { classes, Tabs } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Channels } from './channels.tsx'
import { Deliveries } from './deliveries.tsx'
import { Rules } from './rules.tsx'

const [SET_UP, SENT] = ['/settings/notifications', '/settings/notifications/deliveries']

/** Who is told of alerts, and by which way. */
export const NotificationsPage = (_: { id: string }) => (
  <>
    <Heading at={SET_UP} />
    <Linkless />
    <Channels />
    <Rules />
  </>
)

/** Whether they were told. */
export const DeliveriesPage = (_: { id: string }) => (
  <>
    <Heading at={SENT} />
    <Deliveries />
  </>
)

function Heading({ at }: { at: string }) {
  const words = useWords()
  const parts = [
    [SET_UP, words.notifications.setUp],
    [SENT, words.notifications.deliveries],
  ] as const
  return (
    <>
      <SettingsTabs at="notifications" />
      <Tabs at={at} label={words.notifications.title} tabs={parts} />
    </>
  )
}

/** Without its own address the controller cannot say where something is mended. */
function Linkless() {
  const words = useWords()
  const { me } = useApp()
  return me.site.publicUrl ? null : <p class={classes(ui.notice, ui.warn)}>{words.notifications.linkless}</p>
}
