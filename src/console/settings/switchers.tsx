import { useState } from 'preact/hooks'
import type { SwitcherTest } from '../../wire/switchers.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { download } from '../ui/download.ts'
import { Choice, Form } from '../ui/form.tsx'
import { Button, Failure, Loading, Name } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import type { Thing } from './families.rules.ts'
import { type Chosen, type Mappings, mapped, merged } from './mappings.rules.ts'

const pathOf = ({ id }: Thing): string => `/settings/switchers/${encodeURIComponent(id)}`
const named = (thing: Thing): string => String(thing.displayName)

/** What can be done with a switcher beyond its settings. */
export function SwitcherActions({ thing }: { thing: Thing }) {
  const words = useWords()
  const [open, setOpen] = useState<'backup' | 'mappings' | 'test'>()
  const close = (): void => setOpen(undefined)
  return (
    <>
      <ActionButton needs="switcher:manage" onClick={() => setOpen('test')}>
        {words.switchers.test}
      </ActionButton>
      <ActionButton needs="switcher:map" onClick={() => setOpen('mappings')}>
        {words.switchers.mappings}
      </ActionButton>
      <ActionButton needs="switcher:manage" onClick={() => setOpen('backup')}>
        {words.switchers.backup}
      </ActionButton>
      {open === 'test' && <TestDialog close={close} thing={thing} />}
      {open === 'mappings' && <MappingsDialog close={close} thing={thing} />}
      {open === 'backup' && <BackupDialog close={close} thing={thing} />}
    </>
  )
}

interface OfSwitcher {
  close(): void
  thing: Thing
}

function TestDialog({ close, thing }: OfSwitcher) {
  const words = useWords()
  const [found, setFound] = useState<SwitcherTest>()
  const write = useWrite<{ data: SwitcherTest }>(({ data }) => setFound(data))
  return (
    <Dialog title={`${words.switchers.test}: ${named(thing)}`} close={close}>
      <p class={ui.quiet}>{words.switchers.testExplained}</p>
      {write.error && <Failure error={write.error} />}
      {found && (
        <p role="status" class={found.ok ? ui.good : ui.bad}>
          {found.ok ? words.switchers.answers(found.firmware ?? '') : words.switchers.silent}{' '}
          <Name>{found.message}</Name>
        </p>
      )}
      <div class={ui.row}>
        <Button
          disabled={write.isPending}
          onClick={() => write.mutate({ method: 'POST', path: `${pathOf(thing)}/test` })}
        >
          {words.switchers.test}
        </Button>
      </div>
    </Dialog>
  )
}

interface Options {
  rooms: { id: string; name: string; site: string }[]
  users: { email: string; id: string; name: string }[]
}

/** The room of each input, the person of each output. */
function MappingsDialog({ close, thing }: OfSwitcher) {
  const words = useWords()
  const { api } = useApp()
  const say = useToast()
  const path = `${pathOf(thing)}/mappings`
  const options = useRead<{ data: Options }>('/settings/switcher-mapping-options', ['room', 'user'])
  const read = useRead<{ data: Mappings }>(path, [])
  const write = useWrite(() => {
    say(words.common.saved)
    close()
  })
  // The list is replaced whole: it is read anew, so that what somebody else has just connected is not lost.
  const send = (shown: Mappings, chosen: Chosen): void =>
    write.mutate(async () => {
      const { data } = await api.get<{ data: Mappings }>(path)
      return { body: merged(data, shown, chosen), method: 'PUT', path }
    })
  const [inputs, outputs] = [Number(thing.inputs), Number(thing.outputs)]
  return (
    <Dialog title={`${words.switchers.mappings}: ${named(thing)}`} close={close}>
      <Loading of={options}>
        {({ data: { rooms, users } }) => (
          <Loading of={read}>
            {({ data }) => (
              <Form
                error={write.error}
                needs="switcher:map"
                pending={write.isPending}
                send={(body) => send(data, body as unknown as Chosen)}
              >
                <Places
                  count={inputs}
                  held={mapped(data.inputs.map(({ input, roomId }) => [input, roomId]))}
                  label={words.switchers.input}
                  name="input"
                  options={rooms.map(({ id, name, site }) => [id, `${site}, ${name}`] as const)}
                />
                <Places
                  count={outputs}
                  held={mapped(data.outputs.map(({ output, userId }) => [output, userId]))}
                  label={words.switchers.output}
                  name="output"
                  options={users.map(({ email, id, name }) => [id, `${name} (${email})`] as const)}
                />
              </Form>
            )}
          </Loading>
        )}
      </Loading>
    </Dialog>
  )
}

interface PlacesProps {
  count: number
  held: Readonly<Record<string, string>>
  label(n: number): string
  name: string
  options: readonly (readonly [string, string])[]
}

function Places({ count, held, label, name, options }: PlacesProps) {
  const words = useWords()
  return (
    <>
      {Array.from({ length: count }, (_, i) => i + 1).map((n) => (
        <Choice
          key={n}
          name={`${name}.${n}`}
          empty="text"
          label={label(n)}
          chosen={held[n] ?? ''}
          options={[['', words.common.unset], ...options]}
        />
      ))}
    </>
  )
}

/** What the switcher itself has stored, as a file and back. */
function BackupDialog({ close, thing }: OfSwitcher) {
  const words = useWords()
  const { api } = useApp()
  const say = useToast()
  const [snapshot, setSnapshot] = useState<string>()
  const [error, setError] = useState<Error | null>(null)
  const write = useWrite(() => {
    say(words.switchers.restored)
    close()
  })
  const save = (): void =>
    void api.get<{ data: { snapshot: string } }>(`${pathOf(thing)}/config-snapshot`).then(
      ({ data }) => download(`${thing.id}.txt`, data.snapshot),
      (e: Error) => setError(e),
    )
  const chosen = (files: FileList | null): void => void files?.[0]?.text().then(setSnapshot)
  if (snapshot !== undefined)
    return (
      <Confirm
        title={words.switchers.restoreTitle(named(thing))}
        deed={words.switchers.restore}
        typed={named(thing)}
        close={close}
        confirm={() => write.mutate({ body: { snapshot }, method: 'POST', path: `${pathOf(thing)}/restore` })}
        error={write.error}
        pending={write.isPending}
      >
        <p>{words.switchers.restoreExplained}</p>
      </Confirm>
    )
  return (
    <Dialog title={`${words.switchers.backup}: ${named(thing)}`} close={close}>
      <p class={ui.quiet}>{words.switchers.backupExplained}</p>
      {error && <Failure error={error} />}
      <div class={ui.row}>
        <Button onClick={save}>{words.switchers.save}</Button>
      </div>
      <label class={ui.field}>
        {words.switchers.restoreFrom}
        <input type="file" class={ui.input} onChange={(e) => chosen(e.currentTarget.files)} />
      </label>
    </Dialog>
  )
}
