import { useState } from 'preact/hooks'
import type { Assignment, AssignmentPlan, ChannelMapEntry, MapTarget } from '../../wire/channels.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useNode, useRead, useWrite } from '../data/reads.ts'
import { NodePicker } from '../recorders/picker.tsx'
import { When } from '../time/when.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Choice, Field, Form, Tick, useFault } from '../ui/form.tsx'
import { Button, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import type { Thing } from './families.rules.ts'

type Row = Partial<ChannelMapEntry> & { key: number }

/** Sources of the device, and where each goes: rows that come and go. */
export function MapEntries({ entries, label, name }: { entries: unknown; label: string; name: string }) {
  const words = useWords()
  const fault = useFault(name)
  const [rows, setRows] = useState<Row[]>(() =>
    ((entries as ChannelMapEntry[] | undefined) ?? [{ included: true, label: '', sourceChannelIndex: 1 }]).map(
      (entry, key) => ({ ...entry, key }),
    ),
  )
  const next = Math.max(-1, ...rows.map(({ key }) => key)) + 1
  const add = (): void => setRows([...rows, { included: true, key: next, sourceChannelIndex: rows.length + 1 }])
  return (
    <fieldset>
      <legend>{label}</legend>
      {rows.map((row, at) => (
        <div key={row.key} class={ui.row}>
          <Field
            name={`${name}.${at}.sourceChannelIndex`}
            type="number"
            min={1}
            max={512}
            label={words.settings.source}
            defaultValue={row.sourceChannelIndex}
            required
          />
          <Field
            name={`${name}.${at}.label`}
            label={words.settings.fields.name ?? ''}
            defaultValue={row.label ?? ''}
            maxLength={160}
            required
          />
          <Field
            name={`${name}.${at}.outputChannelIndex`}
            type="number"
            min={1}
            max={256}
            label={words.settings.output}
            defaultValue={row.outputChannelIndex}
          />
          <Tick name={`${name}.${at}.included`} label={words.settings.included} defaultChecked={row.included ?? true} />
          {rows.length > 1 && (
            <Button onClick={() => setRows(rows.filter(({ key }) => key !== row.key))}>{words.common.remove}</Button>
          )}
        </div>
      ))}
      {fault && <p class={ui.bad}>{fault}</p>}
      <Button onClick={add}>{words.settings.addSource}</Button>
    </fieldset>
  )
}

const PATH = '/settings/channel-map-assignments'
const PLANS = '/settings/channel-map-assignment-plans'

/** Which map which recorder or device has. */
export function Assignments({ things }: { things: readonly Thing[] }) {
  const words = useWords()
  const list = useRead<{ data: Assignment[] }>(PATH, ['settings'])
  const plans = useRead<{ data: AssignmentPlan[] }>(PLANS, ['settings'])
  const [assigning, setAssigning] = useState(false)
  const write = useWrite()
  const called = (id: string): string => String(things.find((thing) => thing.id === id)?.name ?? id)
  const back = ({ targetId, targetType }: MapTarget): void =>
    write.mutate({ body: { targetId, targetType }, method: 'POST', path: `${PATH}/rollback` })
  return (
    <Section
      title={words.settings.assignments}
      aside={
        <ActionButton needs="settings:manage" disabled={things.length === 0} onClick={() => setAssigning(true)}>
          {words.settings.assign}
        </ActionButton>
      }
    >
      {write.error && <Failure error={write.error} />}
      <Loading of={list}>
        {({ data }) => (
          <ul class={ui.rows}>
            {data.length === 0 && <li class={ui.quiet}>{words.common.none}</li>}
            {data.map((one) => (
              <li key={one.id} class={ui.row}>
                <span class={ui.grow}>
                  <Target of={one} />: <Name>{called(one.templateId)}</Name>
                </span>
                <When at={one.assignedAt} />
                {one.history.at(-1)?.previousTemplateId && (
                  <ActionButton needs="settings:manage" disabled={write.isPending} onClick={() => back(one)}>
                    {words.settings.back}
                  </ActionButton>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loading>
      <Loading of={plans}>
        {({ data }) => (
          <ul class={ui.rows}>
            {data
              .filter(({ status }) => status === 'pending')
              .map(({ id, note, targets, templateId }) => (
                <li key={id} class={ui.row}>
                  <span class={ui.grow}>
                    {words.settings.planned(targets.length)}: <Name>{called(templateId)}</Name> <Name>{note}</Name>
                  </span>
                  <ActionButton
                    needs="settings:manage"
                    disabled={write.isPending}
                    onClick={() => write.mutate({ method: 'POST', path: `${PLANS}/${encodeURIComponent(id)}/apply` })}
                  >
                    {words.settings.apply}
                  </ActionButton>
                </li>
              ))}
          </ul>
        )}
      </Loading>
      {assigning && <Assign close={() => setAssigning(false)} things={things} />}
    </Section>
  )
}

/** A recorder by its name; a device by its id, which holds the recorder. */
function Target({ of: { targetId, targetType } }: { of: MapTarget }) {
  const node = useNode(targetType === 'node' ? targetId : undefined)
  return <Name>{node.data?.data.alias ?? targetId}</Name>
}

function Assign({ close, things }: { close(): void; things: readonly Thing[] }) {
  const words = useWords()
  const write = useWrite(close)
  const [nodeId, setNodeId] = useState<string>()
  const node = useNode(nodeId)
  const devices = node.data?.data.interfaces ?? []
  const send = ({ device, later, nodeId: chosen, note, templateId }: Record<string, unknown>): void => {
    const target = device ? { targetId: device, targetType: 'interface' } : { targetId: chosen, targetType: 'node' }
    if (later) write.mutate({ body: { note, targets: [target], templateId }, method: 'POST', path: PLANS })
    else write.mutate({ body: { ...target, templateId }, method: 'PUT', path: PATH })
  }
  return (
    <Dialog title={words.settings.assign} close={close}>
      <Form error={write.error} pending={write.isPending} send={send}>
        <Choice
          name="templateId"
          label={words.settings.map}
          options={things.map(({ id, name }) => [id, String(name)] as const)}
        />
        <NodePicker pick={(one) => setNodeId(one?.id)} />
        {devices.length > 0 && (
          <Choice
            key={nodeId}
            name="device"
            label={words.schedule.interface}
            options={[['', words.settings.allDevices], ...devices.map(({ alias, id }) => [id, alias] as const)]}
          />
        )}
        <Tick name="later" label={words.settings.planOnly} />
        <Field name="note" label={words.settings.note} maxLength={500} />
      </Form>
    </Dialog>
  )
}
