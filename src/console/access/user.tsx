import { useState } from 'preact/hooks'
import type { CurrentUser } from '../../wire/access.ts'
import type { Node } from '../../wire/nodes.ts'
import { ROLES, type Role } from '../../wire/permissions.ts'
import type { Room } from '../../wire/rooms.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Dialog } from '../ui/dialog.tsx'
import { entered, Field, Form, Tick } from '../ui/form.tsx'
import { classes, Loading } from '../ui/parts.tsx'
import { NewPassword } from '../ui/password.tsx'
import type { Option } from '../ui/picker.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { ChosenOnes } from './chosen.tsx'
import { grantsOf, needsNoPlace, type Places, placesOf } from './grants.rules.ts'

interface Draft {
  email?: string
  everywhere?: boolean
  name?: string
  password?: string
  role?: Partial<Record<Role, boolean>>
  /** By their place in the list: names of sites may hold dots. */
  site?: Record<string, boolean>
}

const ticked = <K extends string>(ticks: Partial<Record<K, boolean>> = {}): K[] =>
  (Object.keys(ticks) as K[]).filter((name) => ticks[name])
const idsOf = (options: readonly Option[]): string[] => options.map(({ id }) => id)

/** Ids that are held, under their names where these are known. */
const optionsOf = (ids: readonly string[], known: readonly Option[] = []): Option[] =>
  ids.map((id) => known.find((one) => one.id === id) ?? { id, name: id })

/** Who, what, where; the answer is read back before it is saved. */
export function UserDialog({ close, user }: { close(): void; user?: CurrentUser }) {
  const words = useWords()
  const held = placesOf(user?.resourceGrants ?? [])
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room'])
  const nodes = useRead<{ data: Node[] }>(held.nodes.length > 0 ? '/nodes?limit=500' : undefined, ['node'])
  return (
    <Dialog title={user?.name ?? words.access.newUser} close={close}>
      <Loading of={rooms}>
        {({ data }) =>
          !nodes.isLoading && (
            <UserForm
              close={close}
              held={held}
              nodes={optionsOf(
                held.nodes,
                nodes.data?.data.map(({ alias, id }) => ({ id, name: alias })),
              )}
              rooms={optionsOf(held.rooms, data)}
              sites={[...new Set([...data.map(({ site }) => site), ...held.sites])].sort()}
              user={user}
            />
          )
        }
      </Loading>
    </Dialog>
  )
}

interface UserFormProps {
  close(): void
  held: Places
  nodes: readonly Option[]
  rooms: readonly Option[]
  sites: readonly string[]
  user: CurrentUser | undefined
}

function UserForm({ close, held, sites, user, ...first }: UserFormProps) {
  const words = useWords()
  const say = useToast()
  const write = useWrite(() => {
    say(words.common.saved)
    close()
  })
  const [groups, setGroups] = useState<readonly Option[]>(user?.groups ?? [])
  const [rooms, setRooms] = useState(first.rooms)
  const [nodes, setNodes] = useState(first.nodes)
  const [draft, setDraft] = useState<Draft>(() => ({
    everywhere: held.everywhere,
    role: Object.fromEntries((user?.roles ?? []).map((role) => [role, true])),
    site: Object.fromEntries(sites.map((site, i) => [i, held.sites.includes(site)])),
  }))
  const accessOf = ({ everywhere = false, role, site }: Draft) => {
    const chosen = ticked(site).map((i) => sites[Number(i)] ?? '')
    const places = { everywhere, nodes: idsOf(nodes), other: held.other, rooms: idsOf(rooms), sites: chosen }
    return { groupIds: idsOf(groups), resourceGrants: grantsOf(places), roles: ticked(role) }
  }
  const send = (body: Record<string, unknown>): void => {
    const { email, name, password } = body as Draft
    const rights = accessOf(body as Draft)
    if (user) write.mutate({ body: rights, method: 'PATCH', path: `/auth/users/${encodeURIComponent(user.id)}/access` })
    else write.mutate({ body: { ...rights, email, name, password }, method: 'POST', path: '/auth/users' })
  }
  const { resourceGrants, roles } = accessOf(draft)
  const nowhere = resourceGrants.length === 0 && groups.length === 0 && roles.some((role) => !needsNoPlace(role))
  return (
    <Form
      error={write.error}
      input={(e) => setDraft(entered(e.currentTarget as HTMLFormElement))}
      pending={write.isPending}
      send={send}
    >
      {!user && <Who />}
      <Roles held={user?.roles ?? []} />
      <fieldset class={ui.row}>
        <legend>{words.access.where}</legend>
        <Tick name="everywhere" label={words.access.everywhere} defaultChecked={held.everywhere} />
        {sites.map((site, i) => (
          <Tick key={site} name={`site.${i}`} label={site} defaultChecked={held.sites.includes(site)} />
        ))}
      </fieldset>
      <ChosenOnes change={setRooms} chosen={rooms} label={words.access.addRoom} legend={words.nav.rooms} of="room" />
      <ChosenOnes
        change={setNodes}
        chosen={nodes}
        label={words.access.addRecorder}
        legend={words.nav.recorders}
        of="node"
      />
      <ChosenOnes
        change={setGroups}
        chosen={groups}
        label={words.access.addGroup}
        legend={words.access.inGroups}
        of="group"
      />
      <Told
        grants={resourceGrants}
        name={draft.name ?? user?.name ?? ''}
        named={new Map([...rooms, ...nodes].map(({ id, name }) => [id, name]))}
        roles={roles}
      />
      {nowhere && <p class={classes(ui.notice, ui.warn)}>{words.access.chooseWhere}</p>}
    </Form>
  )
}

/** Of a new person. */
function Who() {
  const words = useWords()
  return (
    <>
      <Field name="name" label={words.access.name} maxLength={160} autocomplete="off" required />
      <Field name="email" type="email" label={words.access.email} autocomplete="off" required />
      <NewPassword name="password" label={words.access.password} />
    </>
  )
}

function Roles({ held }: { held: readonly Role[] }) {
  const words = useWords()
  return (
    <fieldset class={ui.row}>
      <legend>{words.access.what}</legend>
      {ROLES.map((role) => (
        <Tick
          key={role}
          name={`role.${role}`}
          label={words.access.roles[role]}
          hint={words.access.explained[role]}
          defaultChecked={held.includes(role)}
        />
      ))}
    </fieldset>
  )
}

interface ToldProps {
  grants: CurrentUser['resourceGrants']
  name: string
  named: ReadonlyMap<string, string>
  roles: readonly Role[]
}

/** The answer to the three questions as a sentence. */
function Told({ grants, name, named, roles }: ToldProps) {
  const words = useWords()
  const list = new Intl.ListFormat(words.locale)
  const everywhere = placesOf(grants).everywhere || roles.some(needsNoPlace)
  const places = grants.map(({ resourceId }) => named.get(resourceId) ?? resourceId)
  const where = places.length > 0 ? words.access.at(list.format(places)) : words.access.nowhere
  const what = list.format(roles.map((role) => words.access.roles[role]))
  return <p role="status">{what && words.access.readBack(name, what, everywhere ? words.access.everywhere : where)}</p>
}
