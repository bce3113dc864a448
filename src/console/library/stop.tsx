import { useState } from 'preact/hooks'
import type { Recording } from '../../wire/recordings.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRoom, useWrite } from '../data/reads.ts'
import { useElapsed } from '../time/when.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Button, Name } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'
import { hasNotBegun } from './sound.rules.ts'

interface StopProps {
  take: Recording
  /** No recorder has begun with it yet. */
  waiting?: boolean
}

/** Ends a take that runs, or one that waits, after a question; for who may. */
export function StopButton({ take, waiting = hasNotBegun(take) }: StopProps) {
  const words = useWords()
  const { me } = useApp()
  const [asking, setAsking] = useState(false)
  if (!may(me, 'recording:control', take.roomId)) return null
  return (
    <>
      <Button icon="stop" kind="danger" onClick={() => setAsking(true)}>
        {waiting ? words.take.callOff : words.common.stop}
      </Button>
      {asking && <Stop close={() => setAsking(false)} take={take} waiting={waiting} />}
    </>
  )
}

function Stop({ close, take, waiting }: Required<StopProps> & { close(): void }) {
  const words = useWords()
  const room = useRoom(take.roomId)
  const elapsed = useElapsed(take.recordedAt)
  const write = useWrite(close)
  const path = `/recordings/${encodeURIComponent(take.id)}/stop`
  return (
    <Confirm
      title={waiting ? words.take.callOffTake(take.name) : words.take.stopTake(take.name)}
      deed={waiting ? words.take.callOff : words.common.stop}
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
      <p>{waiting ? words.take.callOffExplained : words.take.stopExplained(elapsed)}</p>
    </Confirm>
  )
}
