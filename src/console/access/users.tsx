import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CurrentUser, Session } from '../../wire/access.ts'
import { HistoryLink } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Form } from '../ui/form.tsx'
import { Menu } from '../ui/menu.tsx'
import { Badge, Button, classes, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import { NewPassword } from '../ui/password.tsx'
import { type PageMeta, Pager, Table } from '../ui/table.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { PlaceName } from './chosen.tsx'
import { needsNoPlace, placesOf } from './grants.rules.ts'
import { rightsPath } from './rights.tsx'
import { UserDialog } from './user.tsx'

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
                { cell: (user) => <Actions ask={setAsking} user={user} />, head: words.common.actions },
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
  if (placesOf(resourceGrants).everywhere || roles.some(needsNoPlace)) return words.access.everywhere
  if (resourceGrants.length === 0) return <span class={ui.quiet}>{words.access.nowhere}</span>
  return resourceGrants.map(({ resourceId, resourceType }, i) => (
    <Fragment key={`${resourceType} ${resourceId}`}>
      {i > 0 && ', '}
      <PlaceName id={resourceId} type={resourceType} />
    </Fragment>
  ))
}

const userPath = ({ id }: CurrentUser): string => `/auth/users/${encodeURIComponent(id)}`

function Actions({ ask, user }: { ask(asking: Asking): void; user: CurrentUser }) {
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
