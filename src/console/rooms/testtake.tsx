import { useState } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import type { Node } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { ApiError } from '../data/api.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { TakePlayer } from '../library/player.tsx'
import { TakeState } from '../library/rows.tsx'
import { Button, classes, Failure, Said } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { captureOf, sharesOf, titlesOf } from './channels.rules.ts'
import { isSilent } from './list.rules.ts'

const TEST = { durationSeconds: 10, tags: ['test'] }

/** The test take of a recorder as it is now. It stands in the address, `?take=ID`: a reload goes on with it. */
export function useTestTake({ id: nodeId }: Node): { made: Recording | undefined; started(take: Recording): void } {
  const [params, setParams] = useSearchParams()
  const id = params.get('take')
  const path = id === null ? undefined : `/recordings/${encodeURIComponent(id)}`
  const made = useRead<{ data: Recording }>(path, ['recording', 'job']).data?.data
  return {
    made: made?.nodeId === nodeId ? made : undefined,
    started: (take) => setParams((now) => ({ ...Object.fromEntries(now), take: take.id }), { replace: true }),
  }
}

interface TestTakeProps {
  node: Node
  roomId: string | undefined
}

/** Listening to a recorder, and ten seconds of each of its devices in a room: from the button to hearing them. */
export function TestTake({ node, roomId }: TestTakeProps) {
  const words = useWords()
  const { me } = useApp()
  const { made, started } = useTestTake(node)
  const start = useWrite<{ data: Recording }>(({ data }) => started(data))
  const shares = roomId === undefined ? [] : sharesOf(node, roomId)
  const titles = titlesOf(node)
  const takes =
    shares.length === 0
      ? [{ id: '', what: {} }]
      : shares.map((share) => ({ id: share.device.id, what: captureOf(share) }))
  const offered = (roomId === undefined || shares.length > 0) && may(me, 'recording:create', roomId)
  return (
    <>
      <div class={ui.row}>
        <Listen node={node} roomId={roomId} />
        {offered &&
          takes.map(({ id, what }) => (
            <ActionButton
              key={id}
              icon="record"
              kind="primary"
              needs="recording:create"
              roomId={roomId}
              disabled={isSilent(node) || start.isPending || (made !== undefined && isComing(made))}
              onClick={() =>
                start.mutate({
                  body: { ...TEST, ...what, name: words.rooms.testName, nodeId: node.id },
                  method: 'POST',
                  path: '/recordings',
                })
              }
            >
              {takes.length > 1 ? words.rooms.testTakeOf(titles.get(id) ?? '') : words.rooms.testTake}
            </ActionButton>
          ))}
        {made && <TakeState take={made} />}
      </div>
      {start.error && <Failure error={start.error} />}
      {made && <Made take={made} />}
    </>
  )
}

interface ListenProps {
  node: Node
  roomId: string | undefined
}

/** One stream carries every room of a recorder: who may not hear them all hears none, which only the server knows. */
function Listen({ node, roomId }: ListenProps) {
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

const isComing = ({ cached, progress, status }: Recording): boolean =>
  !cached && (progress !== undefined || status === 'recording' || status === 'queued')

/** What has become of it: how to hear it, once it is here. */
function Made({ take }: { take: Recording }) {
  const words = useWords()
  if (take.cached) return <TakePlayer key={take.id} alerts={[]} first="raw" take={take} />
  if (take.status === 'failed')
    return (
      <p role="alert" class={classes(ui.notice, ui.bad)}>
        {words.take.failed}: <Said among={words.activity.takeFaults} code={take.failureReason ?? ''} />
      </p>
    )
  return isComing(take) ? <p role="status">{words.onboard.takeRuns}</p> : null
}
