import { useState } from 'preact/hooks'
import type { CurrentUser, Group, GroupDetail } from '../../wire/access.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Area, Field, Form, Tick } from '../ui/form.tsx'
import { Button, classes, Loading, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

const groupPath = (id: string): string => `/auth/groups/${encodeURIComponent(id)}`

export function Groups() {
  const words = useWords()
  const list = useRead<{ data: Group[] }>('/auth/groups?limit=200&offset=0', ['user'])
  const [editing, setEditing] = useState<Group | 'new'>()
  const [deleting, setDeleting] = useState<Group>()
  const remove = useWrite(() => setDeleting(undefined))
  const close = (): void => setEditing(undefined)
  return (
    <Section
      title={words.access.groups}
      aside={<Button onClick={() => setEditing('new')}>{words.access.newGroup}</Button>}
    >
      <Loading of={list}>
        {({ data }) => (
          <ul class={ui.rows}>
            {data.length === 0 && <li class={ui.quiet}>{words.common.none}</li>}
            {data.map((group) => (
              <li key={group.id} class={ui.row}>
                <span class={ui.grow}>
                  <Name>{group.name}</Name>
                </span>
                <span class={classes(ui.small, ui.quiet)}>{words.access.memberCount(group.memberCount)}</span>
                <Button onClick={() => setEditing(group)}>{words.common.edit}</Button>
                <Button kind="danger" onClick={() => setDeleting(group)}>
                  {words.common.delete}
                </Button>
              </li>
            ))}
          </ul>
        )}
      </Loading>
      {editing === 'new' && <NewGroup close={close} />}
      {editing && editing !== 'new' && <Edit close={close} id={editing.id} />}
      {deleting && (
        <Confirm
          title={words.access.deleteTitle(deleting.name)}
          deed={words.common.delete}
          close={() => setDeleting(undefined)}
          confirm={() => remove.mutate({ method: 'DELETE', path: groupPath(deleting.id) })}
          error={remove.error}
          pending={remove.isPending}
        />
      )}
    </Section>
  )
}

function NewGroup({ close }: { close(): void }) {
  const words = useWords()
  const write = useWrite(close)
  return (
    <Dialog title={words.access.newGroup} close={close}>
      <Form
        error={write.error}
        pending={write.isPending}
        send={(body) => write.mutate({ body, method: 'POST', path: '/auth/groups' })}
      >
        <Field name="name" label={words.access.name} maxLength={160} required />
        <Area name="description" label={words.access.description} maxLength={2000} />
      </Form>
    </Dialog>
  )
}

function Edit({ close, id }: { close(): void; id: string }) {
  const words = useWords()
  const detail = useRead<{ data: { group: GroupDetail } }>(groupPath(id), ['user'])
  const users = useRead<{ data: CurrentUser[] }>('/auth/users?limit=200&offset=0', ['user'])
  const naming = useWrite(close)
  const filling = useWrite()
  const everybody = users.data?.data ?? []
  return (
    <Dialog title={words.access.groups} close={close}>
      <Loading of={detail}>
        {({ data: { group } }) => {
          // Members beyond what is listed stay.
          const beyond = group.members.filter((member) => !everybody.some((user) => user.id === member.id))
          const send = ({ member, ...body }: Record<string, unknown>): void => {
            const ticks = (member ?? {}) as Record<string, boolean>
            const chosen = everybody.filter((user) => ticks[user.id])
            const memberIds = [...chosen, ...beyond].map((one) => one.id)
            filling.mutate(
              { body: { memberIds }, method: 'PUT', path: `${groupPath(id)}/members` },
              { onSuccess: () => naming.mutate({ body, method: 'PATCH', path: groupPath(id) }) },
            )
          }
          return (
            <Form error={filling.error ?? naming.error} pending={filling.isPending || naming.isPending} send={send}>
              <Field name="name" label={words.access.name} defaultValue={group.name} maxLength={160} required />
              <Area
                name="description"
                empty="null"
                label={words.access.description}
                defaultValue={group.description ?? ''}
                maxLength={2000}
              />
              <fieldset>
                <legend>{words.access.members}</legend>
                {everybody.map(({ id: userId, name }) => (
                  <Tick
                    key={userId}
                    name={`member.${userId}`}
                    label={name}
                    defaultChecked={group.members.some((member) => member.id === userId)}
                  />
                ))}
              </fieldset>
            </Form>
          )
        }}
      </Loading>
    </Dialog>
  )
}
