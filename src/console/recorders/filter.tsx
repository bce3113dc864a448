import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useNode } from '../data/reads.ts'
import type { Filters } from '../ui/filters.tsx'
import { NodePicker } from './picker.tsx'

/** One recorder that a list is narrowed to, for who may see recorders; the filters are cleared as all are. */
export function NodeFilter({ filters: { set, values } }: { filters: Filters }) {
  const { me } = useApp()
  const id = values.nodeId
  const { data, error } = useNode(id)
  if (!may(me, 'node:read') || (id !== undefined && !data && !error)) return null
  return (
    <NodePicker
      // Another one, or none, by the address: the field shows that one.
      key={id ?? ''}
      chosen={id === undefined ? undefined : { id, name: data?.data.alias ?? id }}
      pick={(one) => one && set({ nodeId: one.id })}
      required={false}
    />
  )
}
