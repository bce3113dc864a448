import { useMutation, useQueryClient } from '@tanstack/preact-query'
import { useRef, useState } from 'preact/hooks'
import type { Node } from '../../wire/nodes.ts'
import type { SetupFile } from '../../wire/provision.ts'
import type { Room } from '../../wire/rooms.ts'
import { useApp } from '../app/context.ts'
import { useRead } from '../data/reads.ts'
import { Field, Form } from '../ui/form.tsx'
import { Section } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'
import { Address, setupWish, usePublicUrl } from './address.tsx'

interface NameFormProps {
  done(file: SetupFile): void
  preset: string
}

interface Wish {
  alias: string
  controllerUrl: string
  hostname?: string
  room: string
  site: string
}

/** The room, the recorder and its token: whatever was made before an answer was lost is found again, not made twice. */
function useEnrollment(known: readonly Room[], done: (file: SetupFile) => void) {
  const { api } = useApp()
  const queries = useQueryClient()
  const unsure = useRef(false)
  const roomOf = async ({ room, site }: Wish): Promise<Room> => {
    const same = (one: Room): boolean => one.name === room && one.site === site
    const rooms = unsure.current ? (await api.get<{ data: Room[] }>('/rooms')).data : known
    return rooms.find(same) ?? (await api.send<{ data: Room }>('POST', '/rooms', { name: room, site })).data
  }
  const enrolledBefore = async ({ alias, room, site }: Wish): Promise<Node | undefined> => {
    if (!unsure.current) return undefined
    const { data } = await api.get<{ data: Node[] }>(`/nodes?status=provisioning&q=${encodeURIComponent(alias)}`)
    return data.find((node) => node.alias === alias && node.location.site === site && node.location.room === room)
  }
  return useMutation<SetupFile, Error, Wish>({
    mutationFn: async (wish) => {
      const { controllerUrl, ...entry } = wish
      const { id: roomId } = await roomOf(wish)
      const before = await enrolledBefore(wish)
      const wanted = setupWish(controllerUrl, before ? { nodeId: before.id } : entry)
      const { data } = await api.send<{ data: SetupFile }>('POST', '/nodes/bootstrap-config', wanted)
      await api.send('PATCH', `/nodes/${encodeURIComponent(data.nodes[0]?.nodeId ?? '')}`, { roomId })
      return data
    },
    onError: () => {
      unsure.current = true
    },
    onSuccess(file) {
      void queries.invalidateQueries()
      done(file)
    },
  })
}

/** Site, room and a name: nothing else is needed. */
export function NameForm({ done, preset }: NameFormProps) {
  const words = useWords()
  const rooms = useRead<{ data: Room[] }>('/rooms', ['room'])
  const [site, setSite] = useState(preset)
  const [address, setAddress] = useState(usePublicUrl())
  const known = rooms.data?.data ?? []
  const enroll = useEnrollment(known, done)
  const sites = [...new Set(known.map((room) => room.site))]
  return (
    <Section title={words.onboard.steps[0] ?? ''}>
      <Form
        error={enroll.error}
        pending={enroll.isPending}
        send={(body) => enroll.mutate(body as unknown as Wish)}
        submit={words.onboard.add}
      >
        <Field
          name="site"
          label={words.onboard.site}
          list="sites"
          value={site}
          maxLength={160}
          required
          onInput={(e) => setSite(e.currentTarget.value)}
        />
        <Field name="room" label={words.onboard.room} list="rooms" maxLength={160} required />
        <Field name="alias" label={words.onboard.alias} maxLength={160} required />
        <datalist id="sites">
          {sites.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <datalist id="rooms">
          {known
            .filter((room) => room.site === site)
            .map(({ id, name }) => (
              <option key={id} value={name} />
            ))}
        </datalist>
        <Address value={address} onInput={(e) => setAddress(e.currentTarget.value)}>
          <Field name="hostname" label={words.onboard.hostname} maxLength={255} />
        </Address>
      </Form>
    </Section>
  )
}
