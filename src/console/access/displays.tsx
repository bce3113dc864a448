import { useState } from 'preact/hooks'
import type { DisplayLink } from '../../wire/displays.ts'
import type { Room } from '../../wire/rooms.ts'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { LocalWarning, usePublicUrl } from '../onboard/address.tsx'
import { instantAt } from '../time/wall.rules.ts'
import { When } from '../time/when.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Choice, Field, Form } from '../ui/form.tsx'
import { Button, Loading, Name, Section } from '../ui/parts.tsx'
import type { Option } from '../ui/picker.tsx'
import { Copyable } from '../ui/secret.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { ChosenOnes } from './chosen.tsx'

const PATH = '/auth/display-links'

/** Links that open the wall on a screen nobody signs in at. */
export function Displays() {
  const words = useWords()
  const links = useRead<{ data: DisplayLink[] }>(PATH, ['user'])
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room'])
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<DisplayLink>()
  const named = new Map((rooms.data?.data ?? []).map(({ id, name }) => [id, name]))
  return (
    <Section title={words.displays.title} aside={<Button onClick={() => setAdding(true)}>{words.displays.add}</Button>}>
      <p class={ui.quiet}>{words.displays.explained}</p>
      <Loading of={links}>
        {({ data }) => (
          <ul class={ui.rows}>
            {data.length === 0 && <li class={ui.quiet}>{words.common.none}</li>}
            {data.map((link) => (
              <li key={link.id} class={ui.row}>
                <span class={ui.grow}>
                  <Name>{`${link.name}: ${link.site ?? link.roomIds.map((id) => named.get(id) ?? id).join(', ')}`}</Name>{' '}
                  <span class={ui.quiet}>
                    {link.lastUsedAt ? <When at={link.lastUsedAt} /> : words.displays.unused}
                    {link.expiresAt && (
                      <>
                        , {words.displays.until} <When at={link.expiresAt} />
                      </>
                    )}
                  </span>
                </span>
                <Button onClick={() => setRemoving(link)}>{words.displays.revoke}</Button>
              </li>
            ))}
          </ul>
        )}
      </Loading>
      {adding && <NewDisplay close={() => setAdding(false)} rooms={rooms.data?.data ?? []} />}
      {removing && <Revoke close={() => setRemoving(undefined)} link={removing} />}
    </Section>
  )
}

function Revoke({ close, link }: { close(): void; link: DisplayLink }) {
  const words = useWords()
  const write = useWrite(close)
  return (
    <Confirm
      title={words.displays.revokeTitle(link.name)}
      deed={words.displays.revoke}
      error={write.error}
      pending={write.isPending}
      close={close}
      confirm={() => write.mutate({ method: 'DELETE', path: `${PATH}/${encodeURIComponent(link.id)}` })}
    >
      <p>{words.displays.revokeExplained}</p>
    </Confirm>
  )
}

function NewDisplay({ close, rooms }: { close(): void; rooms: Room[] }) {
  const words = useWords()
  const { timeFormat } = useApp()
  const [token, setToken] = useState<string>()
  const make = useWrite<{ data: { token: string } }>(({ data }) => setToken(data.token))
  const sites = [...new Set(rooms.map(({ site }) => site))]
  const [site, setSite] = useState(sites[0] ?? '')
  const [chosen, setChosen] = useState<readonly Option[]>([])
  const send = ({ expires, ...asked }: Record<string, unknown>): void => {
    const where = site === '' && chosen.length > 0 ? { roomIds: chosen.map(({ id }) => id) } : {}
    const until = expires === undefined ? {} : { expiresAt: instantAt(String(expires), timeFormat.zone) }
    make.mutate({ body: { ...asked, ...where, ...until }, method: 'POST', path: PATH })
  }
  const address = usePublicUrl()
  return (
    <Dialog title={words.displays.add} close={close}>
      {token === undefined ? (
        <Form error={make.error} pending={make.isPending} send={send}>
          <Field name="name" label={words.access.name} maxLength={120} required />
          <Choice
            name="site"
            label={words.displays.place}
            value={site}
            options={[...sites.map((one) => [one, one] as const), ['', words.displays.someRooms]]}
            onChange={(e) => setSite(e.currentTarget.value)}
          />
          {site === '' && (
            <ChosenOnes
              change={setChosen}
              chosen={chosen}
              label={words.access.addRoom}
              legend={words.nav.rooms}
              of="room"
            />
          )}
          <Field name="expires" type="datetime-local" label={words.displays.expires} hint={timeFormat.zone} />
        </Form>
      ) : (
        <>
          <p>{words.displays.once}</p>
          <LocalWarning address={address} text={words.onboard.localhost} />
          <Copyable label={words.displays.address} text={`${address}/wall#display=${token}`} />
        </>
      )}
    </Dialog>
  )
}
