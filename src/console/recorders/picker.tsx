import type { ComponentProps } from 'preact'
import type { Node } from '../../wire/nodes.ts'
import { Picker } from '../ui/picker.tsx'
import { useWords } from '../words/words.ts'

/** A recorder, found by the server. */
export function NodePicker(more: Pick<ComponentProps<typeof Picker<Node>>, 'chosen' | 'pick' | 'required'>) {
  const words = useWords()
  return (
    <Picker<Node>
      required
      {...more}
      name="nodeId"
      label={words.take.recorder}
      kinds={['node']}
      option={({ alias, id, location }) => ({ detail: `${location.site}, ${location.room}`, id, name: alias })}
      path={(search) => `/nodes?limit=20${search ? `&q=${encodeURIComponent(search)}` : ''}`}
    />
  )
}
