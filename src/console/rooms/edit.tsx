import { useLocation } from 'wouter-preact'
import type { Room } from '../../wire/rooms.ts'
import { useWrite } from '../data/reads.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Area, Field, Form } from '../ui/form.tsx'
import { useWords } from '../words/words.ts'

interface EditProps {
  close(): void
  /** Absent: a new one. */
  room?: Room
}

export function RoomDialog({ close, room }: EditProps) {
  const words = useWords()
  const [, go] = useLocation()
  const write = useWrite<{ data: Room }>(({ data }) => {
    close()
    if (!room) go(`/rooms/${encodeURIComponent(data.id)}`)
  })
  const empty = room ? 'null' : 'omit'
  const send = (body: Record<string, unknown>): void =>
    write.mutate(
      room
        ? { body, method: 'PATCH', path: `/rooms/${encodeURIComponent(room.id)}` }
        : { body, method: 'POST', path: '/rooms' },
    )
  return (
    <Dialog title={room ? words.edit.room : words.edit.addRoom} close={close}>
      <Form error={write.error} pending={write.isPending} send={send}>
        <Field name="name" label={words.edit.name} defaultValue={room?.name ?? ''} maxLength={160} required />
        <Field name="site" label={words.edit.site} defaultValue={room?.site ?? ''} maxLength={160} required />
        <Field
          name="building"
          empty={empty}
          label={words.edit.building}
          defaultValue={room?.building ?? ''}
          maxLength={160}
        />
        <Field name="floor" empty={empty} label={words.edit.floor} defaultValue={room?.floor ?? ''} maxLength={160} />
        <Area name="notes" empty={empty} label={words.edit.notes} defaultValue={room?.notes ?? ''} maxLength={4000} />
      </Form>
    </Dialog>
  )
}

export function DeleteRoom({ close, room }: { close(): void; room: Room }) {
  const words = useWords()
  const [, go] = useLocation()
  const write = useWrite(() => go('/rooms'))
  return (
    <Confirm
      title={words.edit.deleteRoom(room.name)}
      deed={words.common.delete}
      typed={room.name}
      close={close}
      confirm={() => write.mutate({ method: 'DELETE', path: `/rooms/${encodeURIComponent(room.id)}` })}
      error={write.error}
      pending={write.isPending}
    >
      <p>{words.edit.deleteExplained}</p>
    </Confirm>
  )
}
