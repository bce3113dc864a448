import { useState } from 'preact/hooks'
import type { Schedule } from '../../wire/schedules.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Failure } from '../ui/parts.tsx'
import type { Selection } from '../ui/table.tsx'
import { useToast } from '../ui/toast.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'

interface BulkProps {
  schedules: readonly Schedule[]
  selection: Selection
}

/** From how many schedules on a delete asks for their number in writing. */
const MANY = 10

/** One after the other; what did not work stays chosen, and says why. */
export function Bulk({ schedules, selection }: BulkProps) {
  const words = useWords()
  const { api } = useApp()
  const say = useToast()
  const [asking, setAsking] = useState(false)
  const [busy, setBusy] = useState(false)
  const [fault, setFault] = useState<Error>()
  const chosen = schedules.filter(({ id }) => selection.ids.has(id))
  const run = async (deed: (path: string) => Promise<unknown>, done: (n: number) => string): Promise<void> => {
    setBusy(true)
    setFault(undefined)
    const left: string[] = []
    for (const { id } of chosen)
      try {
        await deed(`/schedules/${encodeURIComponent(id)}`)
      } catch (e) {
        left.push(id)
        setFault(e as Error)
      }
    setBusy(false)
    setAsking(false)
    selection.set(left)
    say(
      [done(chosen.length - left.length), left.length > 0 && words.activity.notDone(left.length)]
        .filter(Boolean)
        .join(' '),
    )
  }
  const turn = (enabled: boolean) => (): void =>
    void run(
      (path) => api.send('PATCH', path, { enabled }),
      enabled ? words.schedule.turnedOn : words.schedule.turnedOff,
    )
  const idle = busy || chosen.length === 0
  return (
    <>
      <div class={ui.row}>
        <span class={ui.grow}>{words.common.selected(chosen.length)}</span>
        <ActionButton needs="schedule:manage" disabled={idle} onClick={turn(true)}>
          {words.schedule.turnOn}
        </ActionButton>
        <ActionButton needs="schedule:manage" disabled={idle} onClick={turn(false)}>
          {words.schedule.turnOff}
        </ActionButton>
        <ActionButton kind="danger" needs="schedule:manage" disabled={idle} onClick={() => setAsking(true)}>
          {words.common.delete}
        </ActionButton>
      </div>
      {fault && <Failure error={fault} />}
      {asking && (
        <Confirm
          title={words.schedule.deleteMany(chosen.length)}
          deed={words.common.delete}
          close={() => setAsking(false)}
          confirm={() => void run((path) => api.send('DELETE', path), words.schedule.deletedMany)}
          pending={busy}
          {...(chosen.length > MANY ? { typed: String(chosen.length) } : {})}
        >
          <p>{words.schedule.deleteManyExplained}</p>
        </Confirm>
      )}
    </>
  )
}
