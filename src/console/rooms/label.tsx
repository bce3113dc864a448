import { encode } from 'uqr'
import type { Room } from '../../wire/rooms.ts'
import { useRead } from '../data/reads.ts'
import { Button, Loading, Name, Title } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'
import css from './label.module.css'

/** A sign for the door or the box: the address of the room, nothing secret. */
export function LabelPage({ id }: { id: string }) {
  const words = useWords()
  const room = useRead<{ data: Room }>(`/rooms/${encodeURIComponent(id)}`, ['room'])
  return (
    <Loading of={room}>
      {({ data }) => (
        <>
          <div class={css.frame}>
            <Title>{words.edit.label}</Title>
            <Button kind="primary" onClick={() => print()}>
              {words.edit.print}
            </Button>
          </div>
          <article class={css.label}>
            <Code text={`${location.origin}/rooms/${encodeURIComponent(data.id)}`} />
            <div>
              <p class={css.name}>
                <Name>{data.name}</Name>
              </p>
              <p>
                <Name>{[data.site, data.building, data.floor].filter(Boolean).join(', ')}</Name>
              </p>
              <p class={css.small}>{words.edit.scan}</p>
              <p class={css.small}>{location.host}</p>
            </div>
          </article>
        </>
      )}
    </Loading>
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
