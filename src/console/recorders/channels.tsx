import type { Interface, Node } from '../../wire/nodes.ts'
import type { Room } from '../../wire/rooms.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Choice, Field, Form } from '../ui/form.tsx'
import { Loading } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'
import { roomChanges } from './channels.rules.ts'

interface ChannelsProps {
  close(): void
  device: Interface
  node: Node
}

/** The name and the room of each channel of a device. */
export function ChannelsDialog({ close, device, node }: ChannelsProps) {
  const words = useWords()
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room'])
  return (
    <Dialog title={`${words.edit.channels}: ${device.alias}`} close={close}>
      <Loading of={rooms}>
        {({ data }) => <ChannelsForm close={close} device={device} node={node} rooms={data} />}
      </Loading>
    </Dialog>
  )
}

function ChannelsForm({ close, device, node, rooms }: ChannelsProps & { rooms: readonly Room[] }) {
  const words = useWords()
  const naming = useWrite(close)
  const placing = useWrite()
  const path = `/nodes/${encodeURIComponent(node.id)}`
  const send = (body: Record<string, unknown>): void => {
    const { alias, room } = body as { alias: Record<string, string>; room: Record<string, string> }
    const channels = device.channels.map((channel) => ({
      alias: alias[channel.index] ?? channel.alias,
      index: channel.index,
    }))
    const assignments = roomChanges(device, room)
    const name = (): void =>
      naming.mutate({
        body: { channels },
        method: 'PATCH',
        path: `${path}/interfaces/${encodeURIComponent(device.id)}`,
      })
    if (assignments.length === 0) name()
    else placing.mutate({ body: { assignments }, method: 'PUT', path: `${path}/channel-rooms` }, { onSuccess: name })
  }
  const options = rooms.map(({ id, name, site }) => [id, `${site}, ${name}`] as const)
  return (
    <Form error={placing.error ?? naming.error} pending={placing.isPending || naming.isPending} send={send}>
      {device.channels.map(({ alias, index, roomId }) => (
        <fieldset key={index}>
          <legend>{words.meter.channel(index)}</legend>
          <Field
            name={`alias.${index}`}
            label={words.edit.channelName(index)}
            defaultValue={alias}
            maxLength={160}
            required
          />
          <Choice
            name={`room.${index}`}
            empty="text"
            label={words.edit.channelRoom(index)}
            chosen={roomId ?? ''}
            options={[['', words.edit.sameRoom], ...options]}
          />
        </fieldset>
      ))}
    </Form>
  )
}
