import { useState } from 'preact/hooks'
import type { Capability } from '../../wire/permissions.ts'
import type { RosterEntry } from '../../wire/rooms.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Choice, Form, Tick } from '../ui/form.tsx'
import { Button, classes, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

/** What people may do in this room beside their roles. What a calendar made is shown, not changed. */
export function People({ roomId }: { roomId: string }) {
  const words = useWords()
  const [adding, setAdding] = useState(false)
  const path = `/rooms/${encodeURIComponent(roomId)}/roster`
  const roster = useRead<{ data: RosterEntry[] }>(path, ['room', 'user'])
  const write = useWrite(() => setAdding(false))
  const save = (entries: readonly RosterEntry[]): void =>
    write.mutate({ body: { entries: entries.map(kept) }, method: 'PUT', path })
  return (
    <Section title={words.edit.people} aside={<Button onClick={() => setAdding(true)}>{words.edit.addPerson}</Button>}>
      <Loading of={roster}>
        {({ data }) => {
          const manual = data.filter(({ source }) => source === 'manual')
          return (
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
                      <Button
                        disabled={write.isPending}
                        onClick={() => save(manual.filter((other) => other !== entry))}
                      >
                        {words.common.remove}
                      </Button>
                    )}
                  </li>
                ))}
              </ul>
              {write.error && !adding && <Failure error={write.error} />}
              {adding && (
                <AddPerson
                  close={() => setAdding(false)}
                  error={write.error}
                  pending={write.isPending}
                  add={(entry) => save([...manual.filter(({ subjectId }) => subjectId !== entry.subjectId), entry])}
                />
              )}
            </>
          )
        }}
      </Loading>
    </Section>
  )
}

const kept = ({ capabilities, subjectId, subjectType }: RosterEntry) => ({ capabilities, subjectId, subjectType })

interface AddProps {
  add(entry: RosterEntry): void
  close(): void
  error: Error | null
  pending: boolean
}

interface Subject {
  id: string
  name: string
}

function AddPerson({ add, close, error, pending }: AddProps) {
  const words = useWords()
  const users = useRead<{ data: Subject[] }>('/auth/users?limit=500&offset=0', ['user'])
  const groups = useRead<{ data: Subject[] }>('/auth/groups?limit=500&offset=0', ['user'])
  const options = [
    ...(users.data?.data ?? []).map(({ id, name }) => [`user ${id}`, name] as const),
    ...(groups.data?.data ?? []).map(({ id, name }) => [`group ${id}`, name] as const),
  ]
  const send = ({ can, subject }: Record<string, unknown>): void => {
    const [subjectType = '', subjectId = ''] = String(subject).split(' ')
    const capabilities = Object.entries(can as Record<Capability, boolean>)
      .filter(([, held]) => held)
      .map(([capability]) => capability as Capability)
    add({ capabilities, source: 'manual', subjectId, subjectType: subjectType as RosterEntry['subjectType'] })
  }
  return (
    <Dialog title={words.edit.addPerson} close={close}>
      <Form error={error} pending={pending} send={send}>
        <Choice name="subject" label={words.edit.person} options={options} required />
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
