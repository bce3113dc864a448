import type { ComponentChildren } from 'preact'
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
import { may } from './may.rules.ts'
import css from './shell.module.css'

interface Entry {
  icon: IconName
  path: string
  permission?: Parameters<typeof may>[1]
  word: keyof Words['nav']
}
const ENTRIES: Entry[] = [
  { icon: 'today', path: '/', word: 'today' },
  { icon: 'room', path: '/rooms', permission: 'node:read', word: 'rooms' },
  { icon: 'library', path: '/library', permission: 'recording:read', word: 'library' },
  { icon: 'me', path: '/me', word: 'me' },
]

export function Shell({ children, live }: { children: ComponentChildren; live: LiveState }) {
  const words = useWords()
  const { dock, me } = useApp()
  const [at] = useLocation()
  const current = (path: string): boolean => (path === '/' ? at === '/' : at.startsWith(path))
  const held = ENTRIES.filter(({ permission }) => permission === undefined || may(me, permission))
  return (
    <>
      <a class={css.skip} href="#main">
        {words.skip}
      </a>
      <nav class={css.nav} aria-label={words.nav.label}>
        <p class={css.brand}>
          <img src="/icon.svg" width="24" height="24" alt="" />
          <Name>{me.site.name}</Name>
        </p>
        <ul>
          {held.map(({ icon, path, word }) => (
            <li key={path}>
              <Link href={path} class={css.link} {...(current(path) ? { 'aria-current': 'page' as const } : {})}>
                <Icon name={icon} />
                {words.nav[word]}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div class={css.shell}>
        <Banner live={live} />
        <main id="main" class={css.main} tabIndex={-1}>
          {children}
        </main>
      </div>
      <DockBar dock={dock} />
    </>
  )
}

/** Never a wall: what is on the screen stays, with its age. */
function Banner({ live: { lostSince, outdated } }: { live: LiveState }) {
  const words = useWords()
  const { clockwork } = useApp()
  if (lostSince !== undefined)
    return (
      <p role="status" class={classes(css.banner, ui.notice, ui.warn)}>
        {words.live.lost(timeOf(new Date(lostSince).toISOString(), clockwork))}
      </p>
    )
  if (!outdated) return null
  return (
    <div role="status" class={classes(css.banner, ui.notice)}>
      <Button onClick={() => location.reload()}>{words.live.reload}</Button>
    </div>
  )
}
