import { useState } from 'preact/hooks'
import type { Recording } from '../../wire/recordings.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useWrite } from '../data/reads.ts'
import { useRoom } from '../rooms/reads.ts'
import { useElapsed } from '../time/when.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Button, Name } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'

/** Ends a take that runs, or one that waits, after a question; for who may. */
export function StopButton({ take }: { take: Recording }) {
  const words = useWords()
  const { me } = useApp()
  const [asking, setAsking] = useState(false)
  if (!may(me, 'recording:control', take.roomId)) return null
  return (
    <>
      <Button icon="stop" kind="danger" onClick={() => setAsking(true)}>
        {take.status === 'queued' ? words.take.callOff : words.common.stop}
      </Button>
      {asking && <Stop close={() => setAsking(false)} take={take} />}
    </>
  )
}

function Stop({ close, take }: { close(): void; take: Recording }) {
  const words = useWords()
  const room = useRoom(take.roomId)
  const elapsed = useElapsed(take.recordedAt)
  const write = useWrite(close)
  const queued = take.status === 'queued'
  const path = `/recordings/${encodeURIComponent(take.id)}/stop`
  return (
    <Confirm
      title={queued ? words.take.callOffTake(take.name) : words.take.stopTake(take.name)}
      deed={queued ? words.take.callOff : words.common.stop}
      close={close}
      confirm={() => write.mutate({ method: 'POST', path })}
      error={write.error}
      pending={write.isPending}
    >
      {room.data && (
        <p>
          <Name>{room.data.data.name}</Name>
        </p>
      )}
      <p>{queued ? words.take.callOffExplained : words.take.stopExplained(elapsed)}</p>
    </Confirm>
  )
}
