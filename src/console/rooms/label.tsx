import { encode } from 'uqr'
import type { Room } from '../../wire/rooms.ts'
import { hostOf, isLocal } from '../data/address.rules.ts'
import { useRead } from '../data/reads.ts'
import { usePublicUrl } from '../onboard/address.tsx'
import { useFilters } from '../ui/filters.tsx'
import { Choice, Tick } from '../ui/form.tsx'
import { Button, classes, Loading, Name, Title } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import css from './label.module.css'
import { locationOf } from './list.rules.ts'

/** Signs for the door or the box: the address of a room, nothing secret. `every`: of all rooms of its site. */
export function LabelPage({ id }: { id: string }) {
  const words = useWords()
  const address = usePublicUrl()
  const { set, values } = useFilters(['every', 'paper'])
  const room = useRead<{ data: Room }>(`/rooms/${encodeURIComponent(id)}`, ['room'])
  const rooms = useRead<{ data: Room[] }>(values.every ? '/rooms' : undefined, ['room'])
  const sheet = values.paper === 'sheet'
  return (
    <Loading of={room}>
      {({ data }) => {
        const others = (rooms.data?.data ?? []).filter((one) => one.site === data.site && one.id !== data.id)
        return (
          <>
            <div class={css.frame}>
              <Title>{words.edit.label}</Title>
              <Choice
                name="paper"
                label={words.edit.paper}
                value={sheet ? 'sheet' : ''}
                options={[
                  ['', words.edit.tape],
                  ['sheet', words.edit.sheet],
                ]}
                onChange={(e) => set({ paper: e.currentTarget.value })}
              />
              <Tick
                name="every"
                label={words.edit.everyRoom(data.site)}
                checked={values.every !== undefined}
                onChange={(e) => set({ every: e.currentTarget.checked ? '1' : '' })}
              />
              <Button kind="primary" disabled={values.every !== undefined && !rooms.data} onClick={() => print()}>
                {words.edit.print}
              </Button>
            </div>
            {isLocal(hostOf(address)) && (
              <div class={css.frame}>
                <p class={classes(ui.notice, ui.warn)}>{words.edit.localLabel}</p>
              </div>
            )}
            <div class={classes(css.labels, sheet ? css.sheet : css.tape)}>
              {[data, ...(values.every ? others : [])].map((one) => (
                <Label key={one.id} room={one} />
              ))}
            </div>
          </>
        )
      }}
    </Loading>
  )
}

function Label({ room }: { room: Room }) {
  const words = useWords()
  const address = usePublicUrl()
  return (
    <article class={css.label}>
      <Code text={`${address}/rooms/${encodeURIComponent(room.id)}`} />
      <div>
        <p class={css.name}>
          <Name>{room.name}</Name>
        </p>
        <p>
          <Name>{locationOf(room, words.rooms.floor)}</Name>
        </p>
        <p class={css.small}>{words.edit.scan}</p>
        <p class={css.small}>{address.replace(/^https?:\/\//, '')}</p>
      </div>
    </article>
  )
}

/** One path of squares: sharp at every size. */
function Code({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 4, ecc: 'M' })
  const path = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return (
    <svg class={css.code} viewBox={`0 0 ${size} ${size}`} role="img" aria-label={text}>
      <path d={path} fill="currentColor" />
    </svg>
  )
}
