import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CurrentUser, Session } from '../../wire/access.ts'
import type { Role } from '../../wire/permissions.ts'
import type { Room } from '../../wire/rooms.ts'
import { useApp } from '../app/context.ts'
import { HistoryLink } from '../app/deed.tsx'
import { useRead, useWrite } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { entered, Field, Form, Tick } from '../ui/form.tsx'
import { Menu } from '../ui/menu.tsx'
import { Badge, Button, classes, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import { NewPassword } from '../ui/password.tsx'
import type { Option } from '../ui/picker.tsx'
import { type PageMeta, Pager, Table } from '../ui/table.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { ChosenOnes } from './chosen.tsx'
import { grantsOf, placesOf } from './grants.rules.ts'
import { rightsPath } from './rights.tsx'

const SIZE = 50

type Asking = { kind: 'access' | 'delete' | 'password' | 'sessions'; user: CurrentUser }

export function Users() {
  const words = useWords()
  const filters = useFilters(['search'])
  const [adding, setAdding] = useState(false)
  const [asking, setAsking] = useState<Asking>()
  const list = useRead<{ data: CurrentUser[]; meta: PageMeta }>(`/auth/users?${filters.query(SIZE)}`, ['user'])
  const close = (): void => setAsking(undefined)
  return (
    <Section
      title={words.access.users}
      aside={
        <Button kind="primary" onClick={() => setAdding(true)}>
          {words.access.newUser}
        </Button>
      }
    >
      <FilterBar filters={filters} searches={[{ label: words.access.search, name: 'search' }]} />
      <Loading of={list}>
        {({ data, meta }) => (
          <>
            <Table
              caption={words.access.users}
              rows={data}
              columns={[
                { cell: ({ name }) => <Name>{name}</Name>, head: words.access.name },
                { cell: ({ email }) => <Name>{email}</Name>, head: words.access.email },
                {
                  cell: ({ disabledAt, roles }) => (
                    <>
                      {roles.map((role) => words.access.roles[role]).join(', ')}{' '}
                      {disabledAt && <Badge state="failed" word={words.access.disabled} />}
                    </>
                  ),
                  head: words.me.roles,
                },
                { cell: (user) => <Places of={user} />, head: words.access.place },
                { cell: (user) => <Deeds ask={setAsking} user={user} />, head: words.common.actions },
              ]}
            />
            <Pager go={filters.go} meta={meta} size={SIZE} />
          </>
        )}
      </Loading>
      {adding && <UserDialog close={() => setAdding(false)} />}
      {asking?.kind === 'access' && <UserDialog close={close} user={asking.user} />}
      {asking?.kind === 'password' && <PasswordDialog close={close} user={asking.user} />}
      {asking?.kind === 'sessions' && <SessionsDialog close={close} user={asking.user} />}
      {asking?.kind === 'delete' && <DeleteDialog close={close} user={asking.user} />}
    </Section>
  )
}

function Places({ of: { resourceGrants, roles } }: { of: CurrentUser }) {
  const words = useWords()
  const { everywhere, other, sites } = placesOf(resourceGrants)
  if (everywhere || roles.some(isEverywhere)) return words.access.everywhere
  const named = [...sites, ...other.map(({ resourceId }) => resourceId)].join(', ')
  return named ? <Name>{named}</Name> : <span class={ui.quiet}>{words.access.nowhere}</span>
}

const userPath = ({ id }: CurrentUser): string => `/auth/users/${encodeURIComponent(id)}`

function Deeds({ ask, user }: { ask(asking: Asking): void; user: CurrentUser }) {
  const words = useWords()
  const { me } = useApp()
  const write = useWrite()
  const disabled = user.disabledAt !== undefined
  return (
    <>
      <Menu label={words.common.actions}>
        <Button onClick={() => ask({ kind: 'access', user })}>{words.common.edit}</Button>
        <Link class={ui.button} href={rightsPath(user.id)}>
          {words.access.rights}
        </Link>
        <Button onClick={() => ask({ kind: 'sessions', user })}>{words.access.sessions}</Button>
        {user.provider === 'local' && (
          <Button onClick={() => ask({ kind: 'password', user })}>{words.access.reset}</Button>
        )}
        {user.id !== me.id && (
          <>
            <Button
              disabled={write.isPending}
              onClick={() =>
                write.mutate({ body: { disabled: !disabled }, method: 'PATCH', path: `${userPath(user)}/status` })
              }
            >
              {disabled ? words.access.enable : words.access.disable}
            </Button>
            <Button kind="danger" onClick={() => ask({ kind: 'delete', user })}>
              {words.common.delete}
            </Button>
          </>
        )}
        <HistoryLink target={user.id} />
      </Menu>
      {write.error && <Failure error={write.error} />}
    </>
  )
}

interface Draft {
  email?: string
  everywhere?: boolean
  name?: string
  password?: string
  role?: Record<Role, boolean>
  site?: Record<string, boolean>
}

/** Owners and administrators need no place. */
const isEverywhere = (role: string): boolean => role === 'owner' || role === 'admin'

const ticked = (ticks: Record<string, boolean> = {}): string[] => Object.keys(ticks).filter((name) => ticks[name])

/** Who, what, where; the answer is read back before it is saved. */
function UserDialog({ close, user }: { close(): void; user?: CurrentUser }) {
  const words = useWords()
  const say = useToast()
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room'])
  const [groups, setGroups] = useState<readonly Option[]>(user?.groups ?? [])
  const write = useWrite(() => {
    say(words.common.saved)
    close()
  })
  const held = placesOf(user?.resourceGrants ?? [])
  const sites = [...new Set([...(rooms.data?.data ?? []).map(({ site }) => site), ...held.sites])].sort()
  const [back, setBack] = useState('')
  const [nowhere, setNowhere] = useState(false)
  // Names of sites may hold dots: their place in the list stands for them.
  const accessOf = ({ everywhere = false, role, site = {} }: Draft) => ({
    groupIds: groups.map(({ id }) => id),
    resourceGrants: grantsOf({ everywhere, other: held.other, sites: ticked(site).map((i) => sites[Number(i)] ?? '') }),
    roles: ticked(role),
  })
  const told = (e: Event): void => {
    const draft = entered(e.currentTarget as HTMLFormElement) as Draft
    const { resourceGrants, roles } = accessOf(draft)
    const where = placesOf(resourceGrants)
    const named = [
      ...where.sites,
      ...where.other.map(({ resourceId, resourceType }) => `${resourceType} ${resourceId}`),
    ]
    const places = where.everywhere ? words.access.everywhere : named.join(', ') || words.access.nowhere
    const what = roles.map((role) => words.access.roles[role as Role]).join(', ')
    setNowhere(
      named.length === 0 && !where.everywhere && groups.length === 0 && roles.some((role) => !isEverywhere(role)),
    )
    setBack(words.access.readBack(draft.name ?? user?.name ?? '', what, places))
  }
  const send = (body: Record<string, unknown>): void => {
    const { email, name, password } = body as Draft
    const rights = accessOf(body as Draft)
    if (user) write.mutate({ body: rights, method: 'PATCH', path: `${userPath(user)}/access` })
    else write.mutate({ body: { ...rights, email, name, password }, method: 'POST', path: '/auth/users' })
  }
  return (
    <Dialog title={user?.name ?? words.access.newUser} close={close}>
      <Loading of={rooms}>
        {() => (
          <Form error={write.error} input={told} pending={write.isPending} send={send}>
            {!user && (
              <>
                <Field name="name" label={words.access.name} maxLength={160} autocomplete="off" required />
                <Field name="email" type="email" label={words.access.email} autocomplete="off" required />
                <NewPassword name="password" label={words.access.password} />
              </>
            )}
            <Ticks
              held={(role) => user?.roles.some((one) => one === role) ?? false}
              legend={words.access.what}
              name="role"
              hints={words.access.explained}
              of={Object.entries(words.access.roles)}
            />
            <fieldset class={ui.row}>
              <legend>{words.access.where}</legend>
              <Tick name="everywhere" label={words.access.everywhere} defaultChecked={held.everywhere} />
              {sites.map((site, i) => (
                <Tick key={site} name={`site.${i}`} label={site} defaultChecked={held.sites.includes(site)} />
              ))}
            </fieldset>
            <ChosenOnes
              change={setGroups}
              chosen={groups}
              label={words.access.addGroup}
              legend={words.access.inGroups}
              of="groups"
            />
            <p role="status">{back}</p>
            {nowhere && <p class={classes(ui.notice, ui.warn)}>{words.access.chooseWhere}</p>}
          </Form>
        )}
      </Loading>
    </Dialog>
  )
}

interface TicksProps {
  hints: Record<string, string>
  held(key: string): boolean
  legend: string
  name: string
  of: readonly (readonly [key: string, word: string])[]
}

const Ticks = ({ held, hints, legend, name, of }: TicksProps) => (
  <fieldset class={ui.row}>
    <legend>{legend}</legend>
    {of.map(([key, word]) => (
      <Tick key={key} name={`${name}.${key}`} label={word} hint={hints[key]} defaultChecked={held(key)} />
    ))}
  </fieldset>
)

interface OfUser {
  close(): void
  user: CurrentUser
}

function PasswordDialog({ close, user }: OfUser) {
  const words = useWords()
  const say = useToast()
  const write = useWrite(() => {
    say(words.common.saved)
    close()
  })
  return (
    <Dialog title={`${words.access.reset}: ${user.name}`} close={close}>
      <Form
        error={write.error}
        pending={write.isPending}
        send={(body) => write.mutate({ body, method: 'PATCH', path: `${userPath(user)}/password` })}
      >
        <NewPassword name="password" label={words.access.password} />
      </Form>
    </Dialog>
  )
}

function SessionsDialog({ close, user }: OfUser) {
  const words = useWords()
  const path = `${userPath(user)}/sessions`
  const sessions = useRead<{ data: Session[] }>(path, ['user'])
  const write = useWrite()
  return (
    <Dialog title={`${words.access.sessions}: ${user.name}`} close={close}>
      {write.error && <Failure error={write.error} />}
      <Loading of={sessions}>
        {({ data }) => (
          <ul class={ui.rows}>
            {data.length === 0 && <li>{words.access.noSessions}</li>}
            {data.map(({ id, ipAddress, lastSeenAt, userAgent }) => (
              <li key={id} class={ui.row}>
                <span class={classes(ui.grow, ui.small)}>
                  <Name>{[ipAddress, userAgent].filter(Boolean).join(', ')}</Name>
                </span>
                <When at={lastSeenAt} />
                <Button
                  disabled={write.isPending}
                  onClick={() => write.mutate({ method: 'DELETE', path: `${path}/${encodeURIComponent(id)}` })}
                >
                  {words.access.end}
                </Button>
              </li>
            ))}
          </ul>
        )}
      </Loading>
    </Dialog>
  )
}

function DeleteDialog({ close, user }: OfUser) {
  const words = useWords()
  const write = useWrite(close)
  return (
    <Confirm
      title={words.access.deleteTitle(user.name)}
      deed={words.common.delete}
      close={close}
      confirm={() => write.mutate({ method: 'DELETE', path: userPath(user) })}
      error={write.error}
      pending={write.isPending}
    >
      <p>{words.access.deleteExplained}</p>
    </Confirm>
  )
}
