import { useState } from 'preact/hooks'
import { CAPABILITIES, type Capability } from '../../wire/permissions.ts'
import type { RosterEntry } from '../../wire/rooms.ts'
import { searched } from '../access/chosen.tsx'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Form, Tick } from '../ui/form.tsx'
import { Button, classes, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import { type Option, Picker } from '../ui/picker.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

const pathOf = (roomId: string): string => `/rooms/${encodeURIComponent(roomId)}/roster`

type Change = (now: readonly RosterEntry[]) => readonly RosterEntry[]

/** The roster is replaced whole: it is read anew, so that what somebody else just changed is not lost. */
function useRoster(roomId: string, done: () => void = () => {}) {
  const { api } = useApp()
  const path = pathOf(roomId)
  const write = useWrite(done)
  const save = (change: Change): void =>
    write.mutate(async () => {
      const { data } = await api.get<{ data: RosterEntry[] }>(path)
      const manual = data.filter(({ source }) => source === 'manual')
      return { body: { entries: change(manual).map(kept) }, method: 'PUT', path }
    })
  return { error: write.error, pending: write.isPending, save }
}

const isSame = (a: RosterEntry, b: RosterEntry): boolean =>
  a.subjectId === b.subjectId && a.subjectType === b.subjectType

const without = (entries: readonly RosterEntry[], gone: RosterEntry) => entries.filter((one) => !isSame(one, gone))

const kept = ({ capabilities, subjectId, subjectType }: RosterEntry) => ({ capabilities, subjectId, subjectType })

/** What people may do in this room beside their roles. What a calendar made is shown, not changed. */
export function People({ roomId }: { roomId: string }) {
  const words = useWords()
  const [editing, setEditing] = useState<'new' | RosterEntry>()
  const roster = useRead<{ data: RosterEntry[] }>(pathOf(roomId), ['room', 'user'])
  const { error, pending, save } = useRoster(roomId)
  return (
    <Section
      title={words.edit.people}
      aside={<Button onClick={() => setEditing('new')}>{words.edit.addPerson}</Button>}
    >
      <Loading of={roster}>
        {({ data }) => (
          <>
            {data.length === 0 && <p class={ui.quiet}>{words.edit.noPeople}</p>}
            <ul class={ui.rows}>
              {data.map((entry) => (
                <Entry
                  key={`${entry.subjectType} ${entry.subjectId} ${entry.source}`}
                  edit={() => setEditing(entry)}
                  entry={entry}
                  pending={pending}
                  remove={() => save((now) => without(now, entry))}
                />
              ))}
            </ul>
          </>
        )}
      </Loading>
      {error && <Failure error={error} />}
      {editing && (
        <PersonDialog
          close={() => setEditing(undefined)}
          roomId={roomId}
          {...(editing === 'new' ? {} : { entry: editing })}
        />
      )}
    </Section>
  )
}

interface EntryProps {
  edit(): void
  entry: RosterEntry
  pending: boolean
  remove(): void
}

function Entry({ edit, entry: { capabilities, source, subjectId, subjectName }, pending, remove }: EntryProps) {
  const words = useWords()
  const name = subjectName ?? subjectId
  return (
    <li class={ui.row}>
      <span class={ui.grow}>
        <Name>{name}</Name>
      </span>
      <span class={classes(ui.small, ui.quiet)}>
        {capabilities.map((one) => words.edit.capabilities[one]).join(', ')}
      </span>
      {source === 'calendar' ? (
        <span class={ui.small}>{words.edit.fromCalendar}</span>
      ) : (
        <>
          <Button aria-label={`${words.common.edit}: ${name}`} onClick={edit}>
            {words.common.edit}
          </Button>
          <Button aria-label={`${words.common.remove}: ${name}`} disabled={pending} onClick={remove}>
            {words.common.remove}
          </Button>
        </>
      )}
    </li>
  )
}

const KINDS = ['user', 'group'] as const

interface PersonProps {
  close(): void
  /** Absent: somebody new. */
  entry?: RosterEntry
  roomId: string
}

/** Who, and what they may do here. */
function PersonDialog({ close, entry, roomId }: PersonProps) {
  const words = useWords()
  const [kind, setKind] = useState<RosterEntry['subjectType']>(entry?.subjectType ?? 'user')
  const [chosen, setChosen] = useState<Option>()
  const { error, pending, save } = useRoster(roomId, close)
  const subjectId = entry?.subjectId ?? chosen?.id
  const send = ({ can }: Record<string, unknown>): void => {
    if (subjectId === undefined) return
    const held = can as Record<Capability, boolean>
    const capabilities = CAPABILITIES.filter((one) => held[one])
    const made: RosterEntry = { capabilities, source: 'manual', subjectId, subjectType: kind }
    save((now) => [...without(now, made), made])
  }
  return (
    <Dialog title={entry ? (entry.subjectName ?? entry.subjectId) : words.edit.addPerson} close={close}>
      <Form error={error} pending={pending} send={send}>
        {!entry && (
          <>
            <div class={ui.row} role="radiogroup" aria-label={words.edit.addPerson}>
              {KINDS.map((one) => (
                <label key={one} class={ui.button}>
                  <input type="radio" checked={kind === one} onChange={() => [setKind(one), setChosen(undefined)]} />
                  {words.edit[one]}
                </label>
              ))}
            </div>
            <Picker
              key={kind}
              name="subjectId"
              label={words.edit[kind]}
              pick={setChosen}
              required
              {...searched(kind)}
            />
          </>
        )}
        <fieldset>
          <legend>{words.edit.people}</legend>
          {CAPABILITIES.map((one) => (
            <Tick
              key={one}
              name={`can.${one}`}
              label={words.edit.capabilities[one]}
              defaultChecked={entry ? entry.capabilities.includes(one) : one === 'view'}
            />
          ))}
        </fieldset>
      </Form>
    </Dialog>
  )
}
