import { useState } from 'preact/hooks'
import type { Capability } from '../../wire/permissions.ts'
import type { RosterEntry } from '../../wire/rooms.ts'
import { searched } from '../access/chosen.tsx'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Form, Tick } from '../ui/form.tsx'
import { Button, classes, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import { Picker } from '../ui/picker.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** What people may do in this room beside their roles. What a calendar made is shown, not changed. */
export function People({ roomId }: { roomId: string }) {
  const words = useWords()
  const { api } = useApp()
  const [adding, setAdding] = useState(false)
  const path = `/rooms/${encodeURIComponent(roomId)}/roster`
  const roster = useRead<{ data: RosterEntry[] }>(path, ['room', 'user'])
  const write = useWrite(() => close())
  const close = (): void => {
    setAdding(false)
    write.reset()
  }
  // The roster is replaced whole: it is read anew, so that what somebody else just changed is not lost.
  const save = (change: (now: readonly RosterEntry[]) => readonly RosterEntry[]): void =>
    write.mutate(async () => {
      const { data } = await api.get<{ data: RosterEntry[] }>(path)
      const manual = data.filter(({ source }) => source === 'manual')
      return { body: { entries: change(manual).map(kept) }, method: 'PUT', path }
    })
  return (
    <Section title={words.edit.people} aside={<Button onClick={() => setAdding(true)}>{words.edit.addPerson}</Button>}>
      <Loading of={roster}>
        {({ data }) => (
          <>
            {data.length === 0 && <p class={ui.quiet}>{words.edit.noPeople}</p>}
            <ul class={ui.rows}>
              {data.map((entry) => (
                <li key={`${entry.subjectType} ${entry.subjectId} ${entry.source}`} class={ui.row}>
                  <span class={ui.grow}>
                    <Name>{entry.subjectName ?? entry.subjectId}</Name>
                  </span>
                  <span class={classes(ui.small, ui.quiet)}>
                    {entry.capabilities.map((one) => words.edit.capabilities[one] ?? one).join(', ')}
                  </span>
                  {entry.source === 'calendar' ? (
                    <span class={ui.small}>{words.edit.fromCalendar}</span>
                  ) : (
                    <Button disabled={write.isPending} onClick={() => save((now) => without(now, entry))}>
                      {words.common.remove}
                    </Button>
                  )}
                </li>
              ))}
            </ul>
            {write.error && !adding && <Failure error={write.error} />}
            {adding && (
              <AddPerson
                close={close}
                error={write.error}
                pending={write.isPending}
                add={(entry) => save((now) => [...without(now, entry), entry])}
              />
            )}
          </>
        )}
      </Loading>
    </Section>
  )
}

const without = (entries: readonly RosterEntry[], { subjectId, subjectType }: RosterEntry) =>
  entries.filter((one) => one.subjectId !== subjectId || one.subjectType !== subjectType)

const kept = ({ capabilities, subjectId, subjectType }: RosterEntry) => ({ capabilities, subjectId, subjectType })

interface AddProps {
  add(entry: RosterEntry): void
  close(): void
  error: Error | null
  pending: boolean
}

const KINDS = ['user', 'group'] as const

function AddPerson({ add, close, error, pending }: AddProps) {
  const words = useWords()
  const [kind, setKind] = useState<(typeof KINDS)[number]>('user')
  const send = ({ can, subjectId }: Record<string, unknown>): void => {
    const capabilities = Object.entries(can as Record<Capability, boolean>)
      .filter(([, held]) => held)
      .map(([capability]) => capability as Capability)
    add({ capabilities, source: 'manual', subjectId: String(subjectId), subjectType: kind })
  }
  return (
    <Dialog title={words.edit.addPerson} close={close}>
      <Form error={error} pending={pending} send={send}>
        <div class={ui.row} role="radiogroup" aria-label={words.edit.addPerson}>
          {KINDS.map((one) => (
            <label key={one} class={ui.button}>
              <input type="radio" checked={kind === one} onChange={() => setKind(one)} />
              {words.edit[one]}
            </label>
          ))}
        </div>
        <Picker key={kind} name="subjectId" label={words.edit[kind]} required {...searched(kind)} />
        <fieldset>
          <legend>{words.edit.people}</legend>
          {Object.entries(words.edit.capabilities).map(([capability, word]) => (
            <Tick key={capability} name={`can.${capability}`} label={word} defaultChecked={capability === 'view'} />
          ))}
        </fieldset>
      </Form>
    </Dialog>
  )
}
