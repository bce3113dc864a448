import { useState } from 'preact/hooks'
import type { Group, GroupDetail } from '../../wire/access.ts'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { FilterBar, useFilters } from '../ui/filters.tsx'
import { Area, Field, Form } from '../ui/form.tsx'
import { Button, classes, Loading, Name, Section } from '../ui/parts.tsx'
import type { Option } from '../ui/picker.tsx'
import { type PageMeta, Pager } from '../ui/table.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { ChosenOnes } from './chosen.tsx'
import { membersOf } from './grants.rules.ts'

const SIZE = 50
const groupPath = (id: string): string => `/auth/groups/${encodeURIComponent(id)}`

export function Groups() {
  const words = useWords()
  const filters = useFilters(['search'])
  const list = useRead<{ data: Group[]; meta: PageMeta }>(`/auth/groups?${filters.query(SIZE)}`, ['user'])
  const [editing, setEditing] = useState<Group | 'new'>()
  const [deleting, setDeleting] = useState<Group>()
  const close = (): void => setEditing(undefined)
  return (
    <Section
      title={words.access.groups}
      aside={<Button onClick={() => setEditing('new')}>{words.access.newGroup}</Button>}
    >
      <FilterBar filters={filters} searches={[{ label: words.access.search, name: 'search' }]} />
      <Loading of={list}>
        {({ data, meta }) => (
          <>
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
            <Pager go={filters.go} meta={meta} size={SIZE} />
          </>
        )}
      </Loading>
      {editing === 'new' && <NewGroup close={close} />}
      {editing && editing !== 'new' && <Edit close={close} id={editing.id} />}
      {deleting && <Delete close={() => setDeleting(undefined)} group={deleting} />}
    </Section>
  )
}

function Delete({ close, group }: { close(): void; group: Group }) {
  const words = useWords()
  const write = useWrite(close)
  return (
    <Confirm
      title={words.access.deleteTitle(group.name)}
      deed={words.common.delete}
      close={close}
      confirm={() => write.mutate({ method: 'DELETE', path: groupPath(group.id) })}
      error={write.error}
      pending={write.isPending}
    />
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
  return (
    <Dialog title={words.access.groups} close={close}>
      <Loading of={detail}>{({ data: { group } }) => <EditForm close={close} group={group} />}</Loading>
    </Dialog>
  )
}

function EditForm({ close, group }: { close(): void; group: GroupDetail }) {
  const words = useWords()
  const { api } = useApp()
  const naming = useWrite(close)
  const filling = useWrite()
  const [before] = useState<readonly Option[]>(group.members)
  const [members, setMembers] = useState(before)
  const path = groupPath(group.id)
  const name = (body: Record<string, unknown>): void => naming.mutate({ body, method: 'PATCH', path })
  // The list is replaced whole: it is read anew, so that who came or went meanwhile is not lost.
  const fill = (body: Record<string, unknown>): void =>
    filling.mutate(
      async () => {
        const { data } = await api.get<{ data: { group: GroupDetail } }>(path)
        const memberIds = membersOf(data.group.members, before, members)
        return { body: { memberIds }, method: 'PUT', path: `${path}/members` }
      },
      { onSuccess: () => name(body) },
    )
  return (
    <Form
      error={filling.error ?? naming.error}
      pending={filling.isPending || naming.isPending}
      send={before === members ? name : fill}
    >
      <Field name="name" label={words.access.name} defaultValue={group.name} maxLength={160} required />
      <Area
        name="description"
        empty="null"
        label={words.access.description}
        defaultValue={group.description ?? ''}
        maxLength={2000}
      />
      <ChosenOnes
        change={setMembers}
        chosen={members}
        label={words.access.addMember}
        legend={words.access.members}
        of="user"
      />
    </Form>
  )
}
