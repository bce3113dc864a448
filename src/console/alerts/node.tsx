import { useNode } from '../data/reads.ts'
import { Name } from '../ui/parts.tsx'

/** The name of a recorder; nothing without one, or for whom may not see it. */
export function NodeName({ id }: { id: string | undefined }) {
  const node = useNode(id)
  return node.data ? <Name>{node.data.data.alias}</Name> : null
}
