import { useState } from 'preact/hooks'
import type { Node } from '../../wire/nodes.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { ApiError } from '../data/api.ts'
import { Button, Failure } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'
import { isSilent } from './list.rules.ts'

interface ListenProps {
  node: Node
  roomId: string | undefined
}

/** One stream carries every room of a recorder: who may not hear them all hears none, which only the server knows. */
export function Listen({ node, roomId }: ListenProps) {
  const words = useWords()
  const { dock, me } = useApp()
  const [refused, setRefused] = useState(false)
  const [failed, setFailed] = useState<Error>()
  if (!may(me, 'listen:monitor', roomId)) return null
  const listen = (): void => {
    setFailed(undefined)
    dock.listen(node.id, node.alias).catch((e) => {
      if (e instanceof ApiError && e.status === 403) setRefused(true)
      else setFailed(e)
    })
  }
  return (
    <>
      <Button icon="listen" disabled={refused || isSilent(node) || dock.listening?.nodeId === node.id} onClick={listen}>
        {words.rooms.listen}
      </Button>
      {refused && <span role="status">{words.rooms.otherRooms}</span>}
      {failed && <Failure error={failed} />}
    </>
  )
}
