import { Tabs, Title } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'
import { Displays } from './displays.tsx'
import { Groups } from './groups.tsx'
import { Policies } from './policies.tsx'
import { Rights } from './rights.tsx'
import { Users } from './users.tsx'

// One's rights are reached from the person, not from a tab.
const PARTS = { displays: Displays, groups: Groups, policies: Policies, rights: Rights, users: Users }
type Part = keyof typeof PARTS
const TABS = ['users', 'groups', 'policies', 'displays'] as const
const addressOf = (part: Part): string => `/access/${part}`

/** `id`: the part, in the address. */
export function AccessPage({ id }: { id: string }) {
  const words = useWords()
  const part: Part = Object.hasOwn(PARTS, id) ? (id as Part) : 'users'
  const Shown = PARTS[part]
  return (
    <>
      <Title>{words.access.title}</Title>
      <Tabs
        at={addressOf(part)}
        label={words.access.title}
        tabs={TABS.map(
          (one) => [addressOf(one), one === 'displays' ? words.displays.title : words.access[one]] as const,
        )}
      />
      <Shown key={part} />
    </>
  )
}
