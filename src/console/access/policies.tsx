import { useState } from 'preact/hooks'
import type { CurrentUser, Group, Policy, PolicyInput } from '../../wire/access.ts'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Choice, Field, Form } from '../ui/form.tsx'
import { Badge, Button, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

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
  const write = useWrite(() => setAdding(false))
  // The list is replaced whole: it is read anew, so that a rule somebody else just made is not lost.
  const save = (change: (now: readonly Policy[]) => readonly PolicyInput[]): void =>
    void api.get<{ data: Policy[] }>(PATH).then(
      ({ data }) => write.mutate({ body: bodyOf(change(data)), method: 'PATCH', path: PATH }),
      () => void list.refetch(),
    )
  const subjects = [
    ['everyone', words.access.everyone] as const,
    ...(users.data?.data ?? []).map(({ id, name }) => [`user ${id}`, name] as const),
    ...(groups.data?.data ?? []).map(({ id, name }) => [`group ${id}`, name] as const),
  ]
  const called = ({ subjectId, subjectType }: Policy): string =>
    subjects.find(([key]) => key === [subjectType, subjectId].filter(Boolean).join(' '))?.[1] ?? subjectId ?? ''
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
                    <Name>{`${called(policy)}: ${policy.resourceType} ${policy.resourceId}`}</Name>
                  </span>
                  {policy.reason && (
                    <span class={ui.quiet}>
                      <Name>{policy.reason}</Name>
                    </span>
                  )}
                  <Button
                    disabled={write.isPending}
                    onClick={() => save((now) => now.filter(({ id }) => id !== policy.id))}
                  >
                    {words.common.remove}
                  </Button>
                </li>
              ))}
            </ul>
            {write.error && !adding && <Failure error={write.error} />}
            {adding && (
              <Add
                add={(policy) => save((now) => [...now, policy])}
                close={() => setAdding(false)}
                error={write.error}
                pending={write.isPending}
                subjects={subjects}
              />
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
  subjects: readonly (readonly [string, string])[]
}

function Add({ add, close, error, pending, subjects }: AddProps) {
  const words = useWords()
  const send = ({ subject, ...body }: Record<string, unknown>): void => {
    const [subjectType = '', subjectId] = String(subject).split(' ')
    add({ ...body, subjectType, ...(subjectId ? { subjectId } : {}) } as PolicyInput)
  }
  return (
    <Dialog title={words.access.newPolicy} close={close}>
      <Form error={error} pending={pending} send={send}>
        <Choice
          name="effect"
          label={words.access.effect}
          chosen="allow"
          options={Object.entries(words.access.effects)}
        />
        <Choice name="subject" label={words.access.subject} chosen="everyone" options={subjects} />
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
