import { Component, type ComponentChildren, type ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import type { Permission } from '../../wire/permissions.ts'
import { Today } from '../today/today.tsx'
import { Button, Skeleton, Title } from '../ui/parts.tsx'
import { useWords, WordsContext } from '../words/words.ts'
import { loaded } from './anew.ts'
import { useApp } from './context.ts'
import { may } from './may.rules.ts'
import { type Found, find } from './router.rules.ts'

type Page = ComponentType<{ id: string; part: string }>

interface Entry {
  load(): Promise<Page>
  permission?: Permission
}

/** A page is one folder, loaded when it is opened; Today, which nearly everybody opens first, comes with the console. */
const PAGES: Record<string, Entry> = {
  '/': { load: async () => Today },
  '/access': { load: async () => (await import('../access/access.tsx')).AccessPage, permission: 'auth:manage' },
  '/access/:part': { load: async () => (await import('../access/access.tsx')).AccessPage, permission: 'auth:manage' },
  '/activity': {
    load: async () => (await import('../activity/activity.tsx')).CapturesPage,
    permission: 'recording:read',
  },
  '/activity/uploads': {
    load: async () => (await import('../activity/activity.tsx')).UploadsPage,
    permission: 'recording:read',
  },
  '/add': { load: async () => (await import('../onboard/add.tsx')).AddPage, permission: 'node:manage' },
  '/alerts': { load: async () => (await import('../alerts/alerts.tsx')).Alerts, permission: 'health:read' },
  '/audit': { load: async () => (await import('../audit/audit.tsx')).AuditPage, permission: 'audit:read' },
  '/library': { load: async () => (await import('../library/library.tsx')).Library, permission: 'recording:read' },
  '/library/:id': { load: async () => (await import('../library/take.tsx')).TakePage, permission: 'recording:read' },
  '/me': { load: async () => (await import('../me/me.tsx')).MePage },
  '/recorders': {
    load: async () => (await import('../recorders/recorders.tsx')).RecordersPage,
    permission: 'node:read',
  },
  '/recorders/:id': {
    load: async () => (await import('../recorders/recorder.tsx')).RecorderPage,
    permission: 'node:read',
  },
  '/recorders/:id/:tab': {
    load: async () => (await import('../recorders/recorder.tsx')).RecorderPage,
    permission: 'node:read',
  },
  '/settings': {
    load: async () => (await import('../settings/settings.tsx')).SettingsPage,
    permission: 'settings:read',
  },
  '/settings/:family': {
    load: async () => (await import('../settings/settings.tsx')).SettingsPage,
    permission: 'settings:read',
  },
  '/settings/notifications': {
    load: async () => (await import('../notifications/notifications.tsx')).NotificationsPage,
    permission: 'settings:read',
  },
  '/settings/notifications/deliveries': {
    load: async () => (await import('../notifications/notifications.tsx')).DeliveriesPage,
    permission: 'settings:read',
  },
  '/schedule': {
    load: async () => (await import('../schedule/schedule.tsx')).SchedulePage,
    permission: 'schedule:read',
  },
  '/schedules/:id': {
    load: async () => (await import('../schedule/detail.tsx')).ScheduleDetail,
    permission: 'schedule:read',
  },
  '/schedules/new': {
    load: async () => (await import('../schedule/detail.tsx')).NewSchedule,
    permission: 'schedule:manage',
  },
  '/welcome': {
    load: async () => (await import('../welcome/welcome.tsx')).WelcomePage,
    permission: 'settings:manage',
  },
  '/wall': { load: async () => (await import('../wall/wall.tsx')).WallPage, permission: 'node:read' },
  '/rooms': { load: async () => (await import('../rooms/rooms.tsx')).Rooms, permission: 'node:read' },
  '/rooms/:id/label': { load: async () => (await import('../rooms/label.tsx')).LabelPage, permission: 'node:read' },
  '/rooms/:id': { load: async () => (await import('../rooms/room.tsx')).RoomPage, permission: 'node:read' },
}

export function Pages() {
  const [at] = useLocation()
  const found = find(Object.keys(PAGES), at)
  if (!found) return <Gone />
  return (
    <Boundary key={at}>
      <Opened found={found} />
    </Boundary>
  )
}

/** A page that fails takes nothing else with it. Name it by `key`: another page begins anew. */
class Boundary extends Component<{ children: ComponentChildren }, { failed: boolean }> {
  override state = { failed: false }

  static override getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    if (!this.state.failed) return this.props.children
    return (
      <WordsContext.Consumer>
        {({ words: { common, failures } }) => (
          <div role="alert">
            <h1>{failures.page}</h1>
            <Button onClick={() => location.reload()}>{common.retry}</Button>
          </div>
        )}
      </WordsContext.Consumer>
    )
  }
}

function Opened({ found: { id, part, pattern } }: { found: Found }) {
  const { me } = useApp()
  const words = useWords()
  const [page, setPage] = useState<{ Page: Page }>()
  const [failed, setFailed] = useState<Error>()
  const { load, permission } = PAGES[pattern] as Entry
  useEffect(() => {
    loaded(load).then((Page) => setPage({ Page }), setFailed)
  }, [])
  if (permission && !may(me, permission))
    return (
      <>
        <Title>{words.failures.denied}</Title>
        <p>{words.failures.deniedBecause(permission)}</p>
      </>
    )
  if (failed) throw failed
  return page ? <page.Page id={id} part={part} /> : <Skeleton />
}

function Gone() {
  const words = useWords()
  return <Title>{words.failures.gone}</Title>
}
