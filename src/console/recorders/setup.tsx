import { useState } from 'preact/hooks'
import type { Interface, Node } from '../../wire/nodes.ts'
import type { Room } from '../../wire/rooms.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useRead, useWrite } from '../data/reads.ts'
import { Area, Choice, Field, Form } from '../ui/form.tsx'
import { Badge, classes, Name, Section } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { BACKENDS, unshown } from './audio.rules.ts'
import { ChannelsDialog } from './channels.tsx'

/** What a recorder is called, where it stands, what it captures with. */
export function Setup({ node }: { node: Node }) {
  return (
    <>
      <Identity node={node} />
      <Devices node={node} />
    </>
  )
}

function Identity({ node }: { node: Node }) {
  const words = useWords()
  const say = useToast()
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room'])
  const write = useWrite(() => say(words.common.saved))
  const { audioDefaults: audio = {}, recordingCapacity } = node
  const options = (rooms.data?.data ?? []).map(({ id, name, site }) => [id, `${site}, ${name}`] as const)
  const send = ({ audioDefaults, ...body }: Record<string, unknown>): void =>
    write.mutate({
      body: { ...body, audioDefaults: { ...unshown(audio), ...(audioDefaults as object) } },
      method: 'PATCH',
      path: `/nodes/${encodeURIComponent(node.id)}`,
    })
  return (
    <Section title={words.recorders.tabs.setup}>
      <Form error={write.error} needs="node:manage" pending={write.isPending} send={send}>
        <Field name="alias" label={words.recorders.alias} defaultValue={node.alias} maxLength={160} required />
        <Choice
          name="roomId"
          empty="null"
          label={words.recorders.room}
          chosen={node.roomId ?? ''}
          options={[['', words.common.unset], ...options]}
        />
        <Field name="tags" kind="list" label={words.recorders.tags} defaultValue={node.tags.join(', ')} />
        <Area
          name="notes"
          empty="null"
          label={words.recorders.notes}
          defaultValue={node.notes ?? ''}
          maxLength={2000}
        />
        <Field
          name="recordingCapacity.maxConcurrentRecordings"
          type="number"
          min={1}
          max={128}
          label={words.recorders.capacity}
          defaultValue={recordingCapacity?.maxConcurrentRecordings ?? 1}
          required
        />
        <Choice
          name="audioDefaults.captureBackend"
          label={words.recorders.backend}
          chosen={audio.captureBackend ?? ''}
          options={[['', words.common.unset], ...BACKENDS.map((backend) => [backend, backend] as const)]}
        />
        <Field
          name="audioDefaults.captureDevice"
          label={words.recorders.device}
          defaultValue={audio.captureDevice ?? ''}
          maxLength={255}
        />
        <Field
          name="audioDefaults.captureChannels"
          type="number"
          min={1}
          max={256}
          label={words.recorders.channelCount}
          defaultValue={audio.captureChannels}
        />
        <Field
          name="audioDefaults.captureSampleRate"
          type="number"
          min={1}
          max={384_000}
          label={words.recorders.rate}
          defaultValue={audio.captureSampleRate}
        />
      </Form>
    </Section>
  )
}

function Devices({ node }: { node: Node }) {
  const words = useWords()
  const [editing, setEditing] = useState<Interface>()
  return (
    <Section title={words.recorders.interfaces}>
      <ul class={ui.rows}>
        {node.interfaces.map((device) => (
          <li key={device.id} class={ui.row}>
            <span class={ui.grow}>
              <Name>{device.alias}</Name>
            </span>
            <span class={classes(ui.small, ui.quiet)}>
              <Name>{`${device.systemName}, ${device.channelCount} x ${device.sampleRates.join('/')} Hz`}</Name>
            </span>
            {device.absent && <Badge state="offline" word={words.recorders.absent} />}
            <ActionButton needs="node:manage" roomId={node.roomId} onClick={() => setEditing(device)}>
              {words.edit.channels}
            </ActionButton>
          </li>
        ))}
      </ul>
      {editing && <ChannelsDialog close={() => setEditing(undefined)} device={editing} node={node} />}
    </Section>
  )
}
