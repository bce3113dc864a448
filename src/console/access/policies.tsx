import { useState } from 'preact/hooks'
import type { CurrentUser, Group, GroupDetail, Policy, PolicyInput } from '../../wire/access.ts'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Choice, Field, Form, Tick } from '../ui/form.tsx'
import { Badge, Button, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import { type Option, Picker } from '../ui/picker.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { isSort, PlaceName, searched } from './chosen.tsx'

const PATH = '/auth/access-policies'
const TYPES = ['*', 'site', 'room', 'node', 'recording', 'schedule'] as const
const EVERY = '*'

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
                    {': '}
                    <Resource policy={policy} />
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
                  {': '}
                  <Resource policy={removing} />
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

/** What a rule is about, by its name. */
function Resource({ policy: { resourceId, resourceType } }: { policy: Policy }) {
  const words = useWords()
  const { every, types } = words.access
  if (resourceId === EVERY) return <Name>{every[resourceType] ?? `${resourceType} ${EVERY}`}</Name>
  return (
    <>
      <Name>{types[resourceType] ?? resourceType}</Name> <PlaceName id={resourceId} type={resourceType} />
    </>
  )
}

/** Whom, what; the answer is read back before it is saved. */
function Add({ add, close, error, pending }: AddProps) {
  const words = useWords()
  const { effects, everyone, ruleBack, subjects } = words.access
  const [effect, setEffect] = useState<PolicyInput['effect']>('allow')
  const [subject, setSubject] = useState<PolicyInput['subjectType']>('everyone')
  const [who, setWho] = useState<Option>()
  const [about, setAbout] = useState<string>()
  const named = subject === 'everyone' ? everyone : who?.name
  return (
    <Dialog title={words.access.newPolicy} close={close}>
      <Form error={error} pending={pending} send={(body) => add(body as unknown as PolicyInput)}>
        <Choice
          name="effect"
          label={words.access.effect}
          value={effect}
          options={Object.entries(effects)}
          onChange={(e) => setEffect(e.currentTarget.value as PolicyInput['effect'])}
        />
        <Choice
          name="subjectType"
          label={words.access.subject}
          value={subject}
          options={Object.entries(subjects)}
          onChange={(e) => {
            setSubject(e.currentTarget.value as PolicyInput['subjectType'])
            setWho(undefined)
          }}
        />
        {subject !== 'everyone' && (
          <Picker
            key={subject}
            name="subjectId"
            label={subjects[subject] ?? subject}
            pick={setWho}
            required
            {...searched(subject)}
          />
        )}
        <About tell={setAbout} />
        <Field name="reason" label={words.access.reason} maxLength={500} />
        <p role="status">{named && about && ruleBack(effect, named, about)}</p>
      </Form>
    </Dialog>
  )
}

/** What a rule is about: everything, all of one type, or one, whose name is told. */
function About({ tell }: { tell(name: string | undefined): void }) {
  const words = useWords()
  const { every, types } = words.access
  const [type, setType] = useState<string>('site')
  const [all, setAll] = useState(false)
  const choose = (next: string, whole: boolean): void => {
    setType(next)
    setAll(whole)
    tell(whole || next === EVERY ? every[next] : undefined)
  }
  return (
    <>
      <Choice
        name="resourceType"
        label={words.access.resourceType}
        value={type}
        options={TYPES.map((one) => [one, (one === EVERY ? every[one] : types[one]) ?? one] as const)}
        onChange={(e) => choose(e.currentTarget.value, false)}
      />
      {type !== EVERY && (
        <Tick
          name=""
          label={every[type] ?? type}
          checked={all}
          onChange={(e) => choose(type, e.currentTarget.checked)}
        />
      )}
      {(all || type === EVERY) && <input type="hidden" name="resourceId" value={EVERY} />}
      {!all && isSort(type) && (
        <Picker
          key={type}
          name="resourceId"
          label={types[type] ?? type}
          pick={(one) => tell(one?.name)}
          required
          {...searched(type)}
        />
      )}
    </>
  )
}
