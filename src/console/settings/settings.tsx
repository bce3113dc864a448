import type { ComponentType } from 'preact'
import { useState } from 'preact/hooks'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'
import { Badge, Button, Loading, Name, Section, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Calibrate } from './calibrate.tsx'
import { Delete, Edit } from './edit.tsx'
import { FAMILIES, type Family, type FamilyName, type Thing } from './families.rules.ts'
import { Foresight } from './foresight.tsx'
import { General } from './general.tsx'
import { Assignments } from './maps.tsx'
import { Shown } from './shown.tsx'
import { SwitcherActions } from './switchers.tsx'
import { SettingsTabs } from './tabs.tsx'
import { Used } from './used.tsx'

/** What more can be done with one of a family, and what stands below their list. */
const MORE: Partial<Record<FamilyName, ComponentType<{ thing: Thing }>>> = {
  switchers: SwitcherActions,
  watchdog: Calibrate,
}
const BELOW: Partial<Record<FamilyName, ComponentType<{ things: readonly Thing[] }>>> = { maps: Assignments }

/** `id`: the family, in the address. */
export function SettingsPage({ id }: { id: string }) {
  const words = useWords()
  const name = Object.hasOwn(FAMILIES, id) ? (id as FamilyName) : undefined
  if (id !== '' && id !== 'foresight' && name === undefined) return <Title>{words.failures.gone}</Title>
  return (
    <>
      <SettingsTabs at={id} />
      {id === 'foresight' && <Foresight />}
      {id === '' && <General />}
      {name && <Things key={name} family={FAMILIES[name]} name={name} />}
    </>
  )
}

function Things({ family, name }: { family: Family; name: FamilyName }) {
  const words = useWords()
  const { me } = useApp()
  const list = useRead<{ data: Thing[] }>(family.path, ['settings'])
  const [editing, setEditing] = useState<Thing | 'new'>()
  const [deleting, setDeleting] = useState<Thing>()
  const close = (): void => setEditing(undefined)
  const changes = may(me, family.write)
  const called = (thing: Thing): string => String(thing[family.named])
  const [More, Below] = [MORE[name], BELOW[name]]
  const model = list.data?.data.find(({ id }) => id === family.model)
  return (
    <>
      <Section
        title={words.settings.families[name] ?? name}
        aside={
          <ActionButton needs={family.write} onClick={() => setEditing('new')}>
            {words.settings.new}
          </ActionButton>
        }
      >
        <p class={ui.quiet}>{words.settings.explained[name]}</p>
        <Loading of={list}>
          {({ data }) => (
            <ul class={ui.rows}>
              {data.length === 0 && <li class={ui.quiet}>{words.common.none}</li>}
              {data.map((thing) => (
                <li key={thing.id} class={ui.row}>
                  <span class={ui.grow}>
                    <Name>{called(thing)}</Name>
                  </span>
                  {thing.enabled === false && <Badge state="queued" word={words.schedule.off} />}
                  {name === 'uploads' && thing.destinationId === undefined && (
                    <span class={ui.quiet}>{words.settings.copiesNothing}</span>
                  )}
                  {typeof thing.reason === 'string' && (
                    <span class={ui.warn}>
                      <Name>{thing.reason}</Name>
                    </span>
                  )}
                  {More && <More thing={thing} />}
                  <Button onClick={() => setEditing(thing)}>{changes ? words.common.edit : words.settings.view}</Button>
                  {family.deletes && (
                    <ActionButton kind="danger" needs={family.write} onClick={() => setDeleting(thing)}>
                      {words.common.delete}
                    </ActionButton>
                  )}
                </li>
              ))}
            </ul>
          )}
        </Loading>
        {editing === 'new' && <Edit close={close} family={family} {...(model ? { model } : {})} />}
        {editing && editing !== 'new' && changes && (
          <Edit close={close} family={family} thing={editing} used={<Used id={editing.id} name={name} />} />
        )}
        {editing && editing !== 'new' && !changes && <Shown close={close} family={family} thing={editing} />}
        {deleting && (
          <Delete
            close={() => setDeleting(undefined)}
            called={called(deleting)}
            path={`${family.path}/${encodeURIComponent(deleting.id)}`}
          />
        )}
      </Section>
      {Below && list.data && <Below things={list.data.data} />}
    </>
  )
}
