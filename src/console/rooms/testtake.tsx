import { useState } from 'preact/hooks'
import type { Node } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import { useApp } from '../app/context.ts'
import { Deed } from '../app/deed.tsx'
import { may } from '../app/may.rules.ts'
import { ApiError } from '../data/api.ts'
import { useWrite } from '../data/reads.ts'
import { TakeState } from '../library/rows.tsx'
import { Button, Failure } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { captureOf, sharesOf } from './channels.rules.ts'

const TEST = { durationSeconds: 10, tags: ['test'] }
/** States in which a recorder takes no orders. */
export const SILENT: ReadonlySet<string> = new Set(['offline', 'provisioning', 'retired'])

interface TrialProps {
  /** The test take as it is now. */
  made?: Recording | undefined
  node: Node
  roomId: string | undefined
  started?(take: Recording): void
}

/** Listening to a recorder, and a take of ten seconds of each of its devices in a room. */
export function Trial({ made, node, roomId, started }: TrialProps) {
  const words = useWords()
  const { me } = useApp()
  const [failed, setFailed] = useState<Error>()
  const start = useWrite<{ data: Recording }>(({ data }) => started?.(data))
  const shares = roomId === undefined ? [] : sharesOf(node, roomId)
  const running = made !== undefined && !made.cached && made.status !== 'failed'
  const error = failed ?? start.error
  const takes = shares.length === 0 ? [{ alias: '', what: {} }] : shares.map(labelled)
  return (
    <>
      <div class={ui.row}>
        <Listen failed={setFailed} node={node} roomId={roomId} />
        {(roomId === undefined || shares.length > 0) &&
          may(me, 'recording:create', roomId) &&
          takes.map(({ alias, what }) => (
            <Deed
              key={alias}
              icon="record"
              kind="primary"
              needs="recording:create"
              roomId={roomId}
              disabled={SILENT.has(node.status) || start.isPending || running}
              onClick={() =>
                start.mutate({
                  body: { ...TEST, ...what, name: words.rooms.testName, nodeId: node.id },
                  method: 'POST',
                  path: '/recordings',
                })
              }
            >
              {takes.length > 1 ? words.rooms.testTakeOf(alias) : words.rooms.testTake}
            </Deed>
          ))}
        {made && <TakeState take={made} />}
      </div>
      {error && <Failure error={error} />}
    </>
  )
}

const labelled = (share: ReturnType<typeof sharesOf>[number]) => ({
  alias: share.device.alias,
  what: captureOf(share),
})

interface ListenProps {
  failed(error: Error | undefined): void
  node: Node
  roomId: string | undefined
}

/** One stream carries every room of a recorder: who may not hear them all hears none, which only the server knows. */
function Listen({ failed, node, roomId }: ListenProps) {
  const words = useWords()
  const { dock, me } = useApp()
  const [refused, setRefused] = useState(false)
  if (!may(me, 'listen:monitor', roomId)) return null
  const listen = (): void => {
    failed(undefined)
    dock.listen(node.id, node.alias).catch((e) => {
      if (e instanceof ApiError && e.status === 403) setRefused(true)
      else failed(e)
    })
  }
  return (
    <>
      <Button
        icon="listen"
        disabled={refused || SILENT.has(node.status) || dock.listening?.nodeId === node.id}
        onClick={listen}
      >
        {words.rooms.listen}
      </Button>
      {refused && <span role="status">{words.rooms.otherRooms}</span>}
    </>
  )
}
