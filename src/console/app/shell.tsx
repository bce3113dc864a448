import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import type { LiveState } from '../data/live.ts'
import { DockBar } from '../listen/dock.tsx'
import { timeOf } from '../time/format.rules.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import { Button, classes, Name } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import type { Words } from '../words/en.ts'
import { useWords } from '../words/words.ts'
import { useApp } from './context.ts'
import { Keys } from './keys.tsx'
import { may } from './may.rules.ts'
import css from './shell.module.css'

interface Entry {
  group: keyof Words['nav']['groups']
  icon: IconName
  path: string
  permission?: Parameters<typeof may>[1]
  /** In the bar of a phone; the others stand behind More there. */
  short?: true
  word: Exclude<keyof Words['nav'], 'groups'>
}
const ENTRIES: Entry[] = [
  { group: 'work', icon: 'today', path: '/', short: true, word: 'today' },
  { group: 'work', icon: 'room', path: '/rooms', permission: 'node:read', short: true, word: 'rooms' },
  { group: 'work', icon: 'schedule', path: '/schedule', permission: 'schedule:read', short: true, word: 'schedule' },
  { group: 'work', icon: 'library', path: '/library', permission: 'recording:read', short: true, word: 'library' },
  { group: 'work', icon: 'alert', path: '/alerts', permission: 'health:read', word: 'alerts' },
  { group: 'fleet', icon: 'recorder', path: '/recorders', permission: 'node:read', word: 'recorders' },
  { group: 'fleet', icon: 'activity', path: '/activity', permission: 'recording:read', word: 'activity' },
  { group: 'fleet', icon: 'wall', path: '/wall', permission: 'node:read', word: 'wall' },
  { group: 'admin', icon: 'settings', path: '/settings', permission: 'settings:read', word: 'settings' },
  { group: 'admin', icon: 'access', path: '/access', permission: 'auth:manage', word: 'access' },
  { group: 'admin', icon: 'audit', path: '/audit', permission: 'audit:read', word: 'audit' },
  { group: 'admin', icon: 'me', path: '/me', word: 'me' },
]

export function Shell({ children, live }: { children: ComponentChildren; live: LiveState }) {
  const words = useWords()
  const { dock, me } = useApp()
  const [at] = useLocation()
  const [more, setMore] = useState(false)
  useEffect(() => setMore(false), [at])
  const held = ENTRIES.filter(({ permission }) => permission === undefined || may(me, permission))
  return (
    <>
      <a class={css.skip} href="#main">
        {words.skip}
      </a>
      <nav class={classes(css.nav, more && css.more)} aria-label={words.nav.label}>
        <p class={css.brand}>
          <img src="/icon.svg" width="24" height="24" alt="" />
          <Name>{me.site.name}</Name>
        </p>
        {GROUPS.map((group) => (
          <Group key={group} at={at} entries={held.filter((entry) => entry.group === group)} name={group} />
        ))}
        <button type="button" class={classes(css.link, css.opener)} aria-expanded={more} onClick={() => setMore(!more)}>
          <Icon name="more" />
          {words.nav.more}
        </button>
      </nav>
      <div class={css.shell}>
        <Banner live={live} />
        <Ending />
        <main id="main" class={css.main} tabIndex={-1}>
          {children}
        </main>
      </div>
      <DockBar dock={dock} />
      <Keys />
    </>
  )
}

const GROUPS = ['work', 'fleet', 'admin'] as const

function Group({ at, entries, name }: { at: string; entries: Entry[]; name: Entry['group'] }) {
  const words = useWords()
  const current = (path: string): boolean => (path === '/' ? at === '/' : at.startsWith(path))
  if (entries.length === 0) return null
  return (
    <div class={css.group}>
      <p class={css.title}>{words.nav.groups[name]}</p>
      <ul>
        {entries.map(({ icon, path, short, word }) => (
          <li key={path} class={classes(!short && css.long)}>
            <Link href={path} class={css.link} {...(current(path) ? { 'aria-current': 'page' as const } : {})}>
              <Icon name={icon} />
              {words.nav[word]}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Never a wall: what is on the screen stays, with its age. */
function Banner({ live: { lostSince, outdated } }: { live: LiveState }) {
  const words = useWords()
  const { timeFormat } = useApp()
  if (lostSince !== undefined)
    return (
      <p role="status" class={classes(css.banner, ui.notice, ui.warn)}>
        {words.live.lost(timeOf(new Date(lostSince).toISOString(), timeFormat))}
      </p>
    )
  return outdated ? <Outdated /> : null
}

/** Another version comes with the next page, which takes what was typed off the screen anyway, or at once on a wall. */
function Outdated() {
  const words = useWords()
  const { dock } = useApp()
  const [at] = useLocation()
  const first = useRef(at)
  const inUse = dock.listening !== undefined
  useEffect(() => {
    if ((at !== first.current || at === '/wall') && !inUse && !isBusy()) location.reload()
  }, [at])
  return (
    <div role="status" class={classes(css.banner, ui.notice)}>
      <Button onClick={() => location.reload()}>{words.live.reload}</Button>
    </div>
  )
}

const isBusy = (): boolean => document.querySelector('dialog[open]') !== null

/** How long before the end of a session that is told, ms; and how often it is looked at. */
const WARNING_MS = 10 * 60_000
const LOOK_MS = 15_000

/** Sessions are not prolonged: who wants to stay signs in again in time, over the page. */
function Ending() {
  const words = useWords()
  const { api, timeFormat, me, renew } = useApp()
  const [soon, setSoon] = useState(false)
  useEffect(() => {
    const look = (): void => setSoon(Date.parse(me.expiresAt) - api.now() < WARNING_MS)
    look()
    const timer = setInterval(look, LOOK_MS)
    return () => clearInterval(timer)
  }, [me.expiresAt])
  if (!soon) return null
  return (
    <div role="status" class={classes(css.banner, ui.notice)}>
      <span class={ui.grow}>{words.login.ends(timeOf(me.expiresAt, timeFormat))}</span>
      <Button onClick={renew}>{words.login.stay}</Button>
    </div>
  )
}
