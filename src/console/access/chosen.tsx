import type { ComponentProps } from 'preact'
import { useRead } from '../data/reads.ts'
import { Button, Name } from '../ui/parts.tsx'
import { type Option, Picker } from '../ui/picker.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** What the lists of the API have in common. */
interface Found {
  alias?: string
  email?: string
  id: string
  name: string
  site: string
}
type Source = Pick<ComponentProps<typeof Picker<Found>>, 'kinds' | 'narrow' | 'option' | 'path'>

/** The query of a search; none for nothing. */
const searching = (name: string, search: string): string =>
  `${new URLSearchParams({ limit: '20', offset: '0', ...(search ? { [name]: search } : {}) })}`
const named = ({ id, name }: Found): Option => ({ id, name })

/** Where a picker finds people, groups, and what rights can be about. */
const SOURCES = {
  group: { kinds: ['user'], option: named, path: (search) => `/auth/groups?${searching('search', search)}` },
  node: {
    kinds: ['node'],
    option: ({ alias = '', id }) => ({ id, name: alias }),
    path: (search) => `/nodes?${searching('q', search)}`,
  },
  recording: { kinds: ['recording'], option: named, path: (search) => `/recordings?${searching('search', search)}` },
  room: {
    kinds: ['room'],
    narrow: true,
    option: ({ id, name, site }) => ({ detail: site, id, name }),
    path: () => '/rooms',
  },
  schedule: { kinds: ['schedule'], option: named, path: (search) => `/schedules?${searching('search', search)}` },
  site: { kinds: ['room'], narrow: true, option: ({ site }) => ({ id: site, name: site }), path: () => '/rooms' },
  user: {
    kinds: ['user'],
    option: ({ email = '', id, name }) => ({ detail: email, id, name }),
    path: (search) => `/auth/users?${searching('search', search)}`,
  },
} as const satisfies Record<string, Source>

type Sort = keyof typeof SOURCES
export const isSort = (type: string): type is Sort => Object.hasOwn(SOURCES, type)
export const searched = (sort: Sort): Source => SOURCES[sort]

interface ChosenProps {
  change(chosen: Option[]): void
  chosen: readonly Option[]
  label: string
  legend: string
  of: Sort
}

/** Several of many: each can be taken out, and the next is searched. */
export function ChosenOnes({ change, chosen, label, legend, of }: ChosenProps) {
  const words = useWords()
  const add = (one: Option | undefined): void => {
    if (one && !chosen.some(({ id }) => id === one.id)) change([...chosen, one])
  }
  return (
    <fieldset>
      <legend>{legend}</legend>
      <ul class={ui.rows}>
        {chosen.length === 0 && <li class={ui.quiet}>{words.common.none}</li>}
        {chosen.map((one) => (
          <Chosen key={one.id} of={of} one={one} remove={() => change(chosen.filter(({ id }) => id !== one.id))} />
        ))}
      </ul>
      <Picker clears name="" label={label} pick={add} {...searched(of)} />
    </fieldset>
  )
}

/** One that was chosen; by its name as it is read where only its id is known. */
function Chosen({ of, one: { id, name }, remove }: { of: Sort; one: Option; remove(): void }) {
  const words = useWords()
  const read = usePlaceName(id, name === id ? of : undefined)
  const shown = name === id ? read : name
  return (
    <li class={ui.row}>
      <span class={ui.grow}>
        <Name>{shown}</Name>
      </span>
      <Button aria-label={`${words.common.remove}: ${shown}`} onClick={remove}>
        {words.common.remove}
      </Button>
    </li>
  )
}

const DETAILS: Readonly<Record<string, string>> = {
  node: 'nodes',
  recording: 'recordings',
  room: 'rooms',
  schedule: 'schedules',
}

/** The name of what rights and rules can be about; of what has none, or is gone, the id. */
function usePlaceName(id: string, type: string | undefined): string {
  const words = useWords()
  const details = type === undefined || id === '*' ? undefined : DETAILS[type]
  const path = details && `/${details}/${encodeURIComponent(id)}`
  const read = useRead<{ data: Partial<Found> }>(path, type && isSort(type) ? searched(type).kinds : [])
  return id === '*' ? words.common.all : (read.data?.data.alias ?? read.data?.data.name ?? id)
}

/** What a grant or a rule is about, by its name. */
export const PlaceName = ({ id, type }: { id: string; type: string }) => <Name>{usePlaceName(id, type)}</Name>
