import { useState } from 'preact/hooks'
import type { DisplayLink } from '../../wire/displays.ts'
import type { Room } from '../../wire/rooms.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Choice, Field, Form } from '../ui/form.tsx'
import { Button, Loading, Name, Section } from '../ui/parts.tsx'
import { Copyable } from '../ui/secret.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

const PATH = '/auth/display-links'

/** Links that open the wall on a screen nobody signs in at. */
export function Displays() {
  const words = useWords()
  const links = useRead<{ data: DisplayLink[] }>(PATH, ['user'])
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room'])
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<DisplayLink>()
  const remove = useWrite(() => setRemoving(undefined))
  const named = new Map((rooms.data?.data ?? []).map(({ id, name }) => [id, name]))
  return (
    <Section title={words.displays.title} aside={<Button onClick={() => setAdding(true)}>{words.displays.add}</Button>}>
      <p class={ui.quiet}>{words.displays.explained}</p>
      <Loading of={links}>
        {({ data }) => (
          <ul class={ui.rows}>
            {data.map((link) => (
              <li key={link.id} class={ui.row}>
                <span class={ui.grow}>
                  <Name>{`${link.name}: ${link.site ?? link.roomIds.map((id) => named.get(id) ?? id).join(', ')}`}</Name>{' '}
                  <span class={ui.quiet}>
                    {link.lastUsedAt ? <When at={link.lastUsedAt} /> : words.displays.unused}
                  </span>
                </span>
                <Button onClick={() => setRemoving(link)}>{words.displays.revoke}</Button>
              </li>
            ))}
          </ul>
        )}
      </Loading>
      {adding && <NewDisplay close={() => setAdding(false)} rooms={rooms.data?.data ?? []} />}
      {removing && (
        <Confirm
          title={words.displays.revokeTitle(removing.name)}
          deed={words.displays.revoke}
          error={remove.error}
          pending={remove.isPending}
          close={() => setRemoving(undefined)}
          confirm={() => remove.mutate({ method: 'DELETE', path: `${PATH}/${encodeURIComponent(removing.id)}` })}
        >
          <p>{words.displays.revokeExplained}</p>
        </Confirm>
      )}
    </Section>
  )
}

function NewDisplay({ close, rooms }: { close(): void; rooms: Room[] }) {
  const words = useWords()
  const [token, setToken] = useState<string>()
  const make = useWrite<{ data: { token: string } }>(({ data }) => setToken(data.token))
  const sites = [...new Set(rooms.map(({ site }) => site))]
  const places = [
    ...sites.map((site) => [`site ${site}`, site] as const),
    ...rooms.map(({ id, name, site }) => [`room ${id}`, `${site}: ${name}`] as const),
  ]
  const send = ({ name, place }: Record<string, unknown>): void => {
    const [kind, ...id] = String(place).split(' ')
    const where = kind === 'site' ? { site: id.join(' ') } : { roomIds: [id.join(' ')] }
    make.mutate({ body: { name, ...where }, method: 'POST', path: PATH })
  }
  return (
    <Dialog title={words.displays.add} close={close}>
      {token === undefined ? (
        <Form error={make.error} pending={make.isPending} send={send}>
          <Field name="name" label={words.access.name} maxLength={120} required />
          <Choice name="place" label={words.displays.place} options={places} />
        </Form>
      ) : (
        <>
          <p>{words.displays.once}</p>
          <Copyable label={words.displays.address} text={`${location.origin}/wall#display=${token}`} />
        </>
      )}
    </Dialog>
  )
}
