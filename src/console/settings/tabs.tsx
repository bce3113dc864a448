import { Link } from 'wouter-preact'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { FAMILIES, type FamilyName } from './families.rules.ts'

/** The heading of all settings, and what of them this person may read; `at`: the one that is shown, by its address. */
export function SettingsTabs({ at }: { at: string }) {
  const words = useWords()
  const { me } = useApp()
  const readable = (Object.keys(FAMILIES) as FamilyName[]).filter((family) => may(me, FAMILIES[family].read))
  const tabs = [
    ['', words.settings.general],
    ['notifications', words.notifications.title],
    ...readable.map((family) => [family, words.settings.families[family]] as const),
    ...(may(me, 'settings:read') ? [['foresight', words.settings.foresight.title] as const] : []),
  ] as const
  return (
    <>
      <Title>{words.settings.title}</Title>
      <nav aria-label={words.settings.title}>
        <ul class={ui.tabs}>
          {tabs.map(([family, word]) => (
            <li key={family}>
              <Link
                class={ui.tab}
                href={family === '' ? '/settings' : `/settings/${family}`}
                {...(family === at ? { 'aria-current': 'page' as const } : {})}
              >
                {word}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
    </>
  )
}
