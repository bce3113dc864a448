import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { Tabs, Title } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'
import { FAMILIES, type FamilyName } from './families.rules.ts'

const addressOf = (family: string): string => (family === '' ? '/settings' : `/settings/${family}`)

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
      <Tabs
        at={addressOf(at)}
        label={words.settings.title}
        tabs={tabs.map(([family, word]) => [addressOf(family), word ?? family] as const)}
      />
    </>
  )
}
