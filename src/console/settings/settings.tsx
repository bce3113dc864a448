import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { Deed } from '../app/deed.tsx'
import { useRead, useWrite } from '../data/reads.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Choice, Field, Form, Tick } from '../ui/form.tsx'
import { Badge, Loading, Name, Section, Title } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { FAMILIES, type Family, type FamilyName, type FieldSpec, valueAt } from './families.rules.ts'
import { General } from './general.tsx'

type Thing = Record<string, unknown> & { id: string }

/** `id`: the family, in the address. */
export function SettingsPage({ id }: { id: string }) {
  const words = useWords()
  const name = Object.hasOwn(FAMILIES, id) ? (id as FamilyName) : undefined
  if (id !== '' && name === undefined) return <Title>{words.failures.gone}</Title>
  const tabs = [['', words.settings.general], ...Object.entries(words.settings.families)] as const
  return (
    <>
      <Title>{words.settings.title}</Title>
      <nav aria-label={words.settings.title}>
        <ul class={ui.tabs}>
          {tabs.map(([family, word]) => (
            <li key={family}>
              <Link
                class={ui.tab}
                href={family === '' ? '/settings' : `/settings/${family}`}
                {...(family === (name ?? '') ? { 'aria-current': 'page' as const } : {})}
              >
                {word}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {name === undefined ? <General /> : <Things key={name} family={FAMILIES[name]} name={name} />}
    </>
  )
}

function Things({ family, name }: { family: Family; name: FamilyName }) {
  const words = useWords()
  const list = useRead<{ data: Thing[] }>(family.path, ['settings'])
  const [editing, setEditing] = useState<Thing | 'new'>()
  const [deleting, setDeleting] = useState<Thing>()
  const called = (thing: Thing): string => String(thing[family.named])
  return (
    <Section
      title={words.settings.families[name] ?? name}
      aside={
        <Deed needs="settings:manage" onClick={() => setEditing('new')}>
          {words.settings.new}
        </Deed>
      }
    >
      <Loading of={list}>
        {({ data }) => (
          <ul class={ui.rows}>
            {data.map((thing) => (
              <li key={thing.id} class={ui.row}>
                <span class={ui.grow}>
                  <Name>{called(thing)}</Name>
                </span>
                {thing.enabled === false && <Badge state="queued" word={words.schedule.off} />}
                {typeof thing.reason === 'string' && (
                  <span class={ui.warn}>
                    <Name>{thing.reason}</Name>
                  </span>
                )}
                <Deed needs="settings:manage" onClick={() => setEditing(thing)}>
                  {words.common.edit}
                </Deed>
                {family.deletes && (
                  <Deed kind="danger" needs="settings:manage" onClick={() => setDeleting(thing)}>
                    {words.common.delete}
                  </Deed>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loading>
      {editing && (
        <Edit close={() => setEditing(undefined)} family={family} {...(editing === 'new' ? {} : { thing: editing })} />
      )}
      {deleting && (
        <Delete close={() => setDeleting(undefined)} called={called(deleting)} path={`${family.path}/${deleting.id}`} />
      )}
    </Section>
  )
}

function Delete({ called, close, path }: { called: string; close(): void; path: string }) {
  const words = useWords()
  const write = useWrite(close)
  return (
    <Confirm
      title={words.settings.deleteTitle(called)}
      deed={words.common.delete}
      close={close}
      confirm={() => write.mutate({ method: 'DELETE', path })}
      error={write.error}
      pending={write.isPending}
    />
  )
}

function Edit({ close, family, thing }: { close(): void; family: Family; thing?: Thing }) {
  const words = useWords()
  const say = useToast()
  const write = useWrite(() => {
    say(words.common.saved)
    close()
  })
  const [held, setHeld] = useState<Record<string, string>>(() => firstChoices(family, thing))
  const shown = family.fields.filter(({ when }) => when === undefined || held[when[0]] === when[1])
  const send = ({ kind, ...body }: Record<string, unknown>): void =>
    write.mutate(
      thing
        ? { body, method: 'PATCH', path: `${family.path}/${encodeURIComponent(thing.id)}` }
        : { body: { ...body, ...(kind === undefined ? {} : { kind }) }, method: 'POST', path: family.path },
    )
  return (
    <Dialog title={thing ? String(thing[family.named]) : words.settings.new} close={close}>
      <Form error={write.error} pending={write.isPending} send={send}>
        {shown.map((spec) => (
          <Spec
            key={spec.name}
            fixed={thing !== undefined && spec.name === 'kind'}
            hold={(value) => setHeld({ ...held, [spec.name]: value })}
            spec={spec}
            thing={thing}
          />
        ))}
      </Form>
    </Dialog>
  )
}

const firstChoices = ({ fields }: Family, thing: Thing | undefined): Record<string, string> =>
  Object.fromEntries(
    fields.filter(({ of }) => of).map(({ name, of = [] }) => [name, String(valueAt(thing, name) ?? of[0])]),
  )

interface SpecProps {
  fixed: boolean
  hold(value: string): void
  spec: FieldSpec
  thing: Thing | undefined
}

function Spec({ fixed, hold, spec, thing }: SpecProps) {
  const words = useWords()
  const { empty, from, initially = false, kind, max, min, name, of = [], required } = spec
  const label = words.settings.fields[name] ?? name
  const value = valueAt(thing, name)
  const options = useRead<{ data: Thing[] }>(from, ['settings'])
  const common = { label, name, ...(empty ? { empty } : {}), ...(required ? { required } : {}) }
  switch (kind) {
    case 'tick':
      return <Tick name={name} label={label} defaultChecked={value === undefined ? initially : value === true} />
    case 'choice':
      return (
        <Choice
          {...common}
          chosen={value === undefined ? of[0] : String(value)}
          disabled={fixed}
          options={
            from
              ? [
                  ['', words.common.unset] as const,
                  ...(options.data?.data ?? []).map(({ displayName, id }) => [id, String(displayName)] as const),
                ]
              : of.map((one) => [one, words.settings.values[one] ?? one] as const)
          }
          onChange={(e) => hold(e.currentTarget.value)}
        />
      )
    case 'secret':
      return <Field {...common} type="password" autocomplete="off" hint={words.settings.secret} />
    default:
      return (
        <Field
          {...common}
          {...(kind === 'number' ? { max, min, type: 'number' } : { maxLength: max })}
          defaultValue={value === undefined || value === null ? '' : String(value)}
        />
      )
  }
}
