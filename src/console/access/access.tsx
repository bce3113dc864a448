import { Link } from 'wouter-preact'
import { Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Displays } from './displays.tsx'
import { Groups } from './groups.tsx'
import { Policies } from './policies.tsx'
import { Rights } from './rights.tsx'
import { Users } from './users.tsx'

// One's rights are reached from the person, not from a tab.
const PARTS = { displays: Displays, groups: Groups, policies: Policies, rights: Rights, users: Users }
type Part = keyof typeof PARTS

/** `id`: the part, in the address. */
export function AccessPage({ id }: { id: string }) {
  const words = useWords()
  const part: Part = Object.hasOwn(PARTS, id) ? (id as Part) : 'users'
  const Shown = PARTS[part]
  return (
    <>
      <Title>{words.access.title}</Title>
      <nav aria-label={words.access.title}>
        <ul class={ui.tabs}>
          {(['users', 'groups', 'policies', 'displays'] as const).map((one) => (
            <li key={one}>
              <Link
                class={ui.tab}
                href={`/access/${one}`}
                {...(one === part ? { 'aria-current': 'page' as const } : {})}
              >
                {one === 'displays' ? words.displays.title : words.access[one]}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <Shown key={part} />
    </>
  )
}
