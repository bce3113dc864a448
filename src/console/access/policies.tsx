import { useState } from 'preact/hooks'
import type { CurrentUser, Group, GroupDetail, Policy, PolicyInput } from '../../wire/access.ts'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Choice, Field, Form } from '../ui/form.tsx'
import { Badge, Button, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import { Picker } from '../ui/picker.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { searched } from './chosen.tsx'

const PATH = '/auth/access-policies'
const TYPES = ['*', 'site', 'room', 'node', 'recording', 'schedule']

const bodyOf = (policies: readonly PolicyInput[]) => ({
  policies: policies.map(({ effect, reason, resourceId, resourceType, subjectId, subjectType }) => ({
    ...{ effect, resourceId, resourceType, subjectType },
    ...(reason ? { reason } : {}),
    ...(subjectId ? { subjectId } : {}),
  })),
})

/** Rules beside roles and rooms: for one, a group or everyone. */
export function Policies() {
  const words = useWords()
  const { api } = useApp()
  const list = useRead<{ data: Policy[] }>(PATH, ['user'])
  const users = useRead<{ data: CurrentUser[] }>('/auth/users?limit=200&offset=0', ['user'])
  const groups = useRead<{ data: Group[] }>('/auth/groups?limit=200&offset=0', ['user'])
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<Policy>()
  const write = useWrite(() => close())
  const close = (): void => {
    setAdding(false)
    setRemoving(undefined)
    write.reset()
  }
  // The list is replaced whole: it is read anew, so that a rule somebody else just made is not lost.
  const save = (change: (now: readonly Policy[]) => readonly PolicyInput[]): void =>
    write.mutate(async () => {
      const { data } = await api.get<{ data: Policy[] }>(PATH)
      return { body: bodyOf(change(data)), method: 'PATCH', path: PATH }
    })
  const known = new Map([
    ...(users.data?.data ?? []).map(({ id, name }) => [`user ${id}`, name] as const),
    ...(groups.data?.data ?? []).map(({ id, name }) => [`group ${id}`, name] as const),
  ])
  const listed = users.data !== undefined && groups.data !== undefined
  return (
    <Section
      title={words.access.policies}
      aside={<Button onClick={() => setAdding(true)}>{words.access.newPolicy}</Button>}
    >
      <p class={ui.quiet}>{words.access.policiesExplained}</p>
      <Loading of={list}>
        {({ data }) => (
          <>
            {data.length === 0 && <p class={ui.quiet}>{words.access.noPolicies}</p>}
            <ul class={ui.rows}>
              {data.map((policy) => (
                <li key={policy.id} class={ui.row}>
                  <Badge
                    state={policy.effect === 'deny' ? 'failed' : 'online'}
                    word={words.access.effects[policy.effect] ?? policy.effect}
                  />
                  <span class={ui.grow}>
                    <Subject known={known} listed={listed} policy={policy} />
                    <Name>{`: ${policy.resourceType} ${policy.resourceId}`}</Name>
                  </span>
                  {policy.reason && (
                    <span class={ui.quiet}>
                      <Name>{policy.reason}</Name>
                    </span>
                  )}
                  <Button disabled={write.isPending} onClick={() => setRemoving(policy)}>
                    {words.common.remove}
                  </Button>
                </li>
              ))}
            </ul>
            {write.error && !adding && !removing && <Failure error={write.error} />}
            {adding && (
              <Add
                add={(policy) => save((now) => [...now, policy])}
                close={close}
                error={write.error}
                pending={write.isPending}
              />
            )}
            {removing && (
              <Confirm
                title={words.access.removeRule}
                deed={words.common.remove}
                close={close}
                confirm={() => save((now) => now.filter(({ id }) => id !== removing.id))}
                error={write.error}
                pending={write.isPending}
              >
                <p>
                  {words.access.effects[removing.effect]}: <Subject known={known} listed={listed} policy={removing} />
                  <Name>{`: ${removing.resourceType} ${removing.resourceId}`}</Name>
                </p>
                <p>{removing.effect === 'deny' ? words.access.denialEnds : words.access.allowanceEnds}</p>
              </Confirm>
            )}
          </>
        )}
      </Loading>
    </Section>
  )
}

interface AddProps {
  add(policy: PolicyInput): void
  close(): void
  error: Error | null
  pending: boolean
}

interface SubjectProps {
  known: ReadonlyMap<string, string>
  /** The first of them have been read: who is not among them is asked for. */
  listed: boolean
  policy: Policy
}

/** Whom a rule is about, by name. */
function Subject({ known, listed, policy: { subjectId = '', subjectType } }: SubjectProps) {
  const words = useWords()
  const name = known.get(`${subjectType} ${subjectId}`)
  const path = `/auth/${subjectType}s/${encodeURIComponent(subjectId)}`
  const asked = subjectType !== 'everyone' && listed && name === undefined
  const read = useRead<{ data: { group?: GroupDetail; user?: CurrentUser } }>(asked ? path : undefined, ['user'])
  const { group, user } = read.data?.data ?? {}
  return (
    <Name>{subjectType === 'everyone' ? words.access.everyone : (name ?? (user ?? group)?.name ?? subjectId)}</Name>
  )
}

function Add({ add, close, error, pending }: AddProps) {
  const words = useWords()
  const [subject, setSubject] = useState('everyone')
  const send = (body: Record<string, unknown>): void => add(body as unknown as PolicyInput)
  return (
    <Dialog title={words.access.newPolicy} close={close}>
      <Form error={error} pending={pending} send={send}>
        <Choice
          name="effect"
          label={words.access.effect}
          chosen="allow"
          options={Object.entries(words.access.effects)}
        />
        <Choice
          name="subjectType"
          label={words.access.subject}
          value={subject}
          options={Object.entries(words.access.subjects)}
          onChange={(e) => setSubject(e.currentTarget.value)}
        />
        {subject !== 'everyone' && (
          <Picker<CurrentUser | Group>
            key={subject}
            name="subjectId"
            label={words.access.subjects[subject] ?? subject}
            required
            {...searched(subject === 'user' ? 'users' : 'groups')}
          />
        )}
        <Choice
          name="resourceType"
          label={words.access.resourceType}
          chosen="site"
          options={TYPES.map((type) => [type, type] as const)}
        />
        <Field name="resourceId" label={words.access.resourceId} maxLength={160} required />
        <Field name="reason" label={words.access.reason} maxLength={500} />
      </Form>
    </Dialog>
  )
}
