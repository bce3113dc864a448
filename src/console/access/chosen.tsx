import { Button, Name } from '../ui/parts.tsx'
import { type Option, Picker } from '../ui/picker.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

interface Named {
  email?: string
  id: string
  name: string
}

/** People or groups as options of a picker, found by the server. */
export const searched = (what: 'groups' | 'users') => ({
  kinds: ['user'] as const,
  option: ({ email, id, name }: Named): Option => ({ id, name, ...(email ? { detail: email } : {}) }),
  path: (search: string): string => `/auth/${what}?${new URLSearchParams({ limit: '20', offset: '0', search })}`,
})

interface ChosenProps {
  change(chosen: Option[]): void
  chosen: readonly Option[]
  label: string
  legend: string
  of: 'groups' | 'users'
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
        {chosen.map(({ id, name }) => (
          <li key={id} class={ui.row}>
            <span class={ui.grow}>
              <Name>{name}</Name>
            </span>
            <Button
              aria-label={`${words.common.remove}: ${name}`}
              onClick={() => change(chosen.filter((one) => one.id !== id))}
            >
              {words.common.remove}
            </Button>
          </li>
        ))}
      </ul>
      <Picker<Named> clears name="" label={label} pick={add} {...searched(of)} />
    </fieldset>
  )
}
