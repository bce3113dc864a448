import type { Recording } from '../../wire/recordings.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useWrite } from '../data/reads.ts'
import { Button, Failure } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'

/** Ends a running take, for who may; a refusal stands beside it. */
export function StopButton({ take }: { take: Recording }) {
  const words = useWords()
  const { me } = useApp()
  const stop = useWrite()
  if (!may(me, 'recording:control', take.roomId)) return null
  const path = `/recordings/${encodeURIComponent(take.id)}/stop`
  return (
    <>
      <Button icon="stop" kind="danger" disabled={stop.isPending} onClick={() => stop.mutate({ method: 'POST', path })}>
        {words.common.stop}
      </Button>
      {stop.error && <Failure error={stop.error} />}
    </>
  )
}
