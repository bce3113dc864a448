import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ListenSession } from '../../wire/listen.ts'
import type { Api } from '../data/api.ts'
import { faultText } from '../ui/fault.rules.ts'
import { Icon } from '../ui/icon.tsx'
import { Button, classes, Name } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import type { Words } from '../words/en.ts'
import { useWords } from '../words/words.ts'
import css from './dock.module.css'
import { createOutput, type Player, play } from './player.ts'

interface Listening {
  buffering: boolean
  enhance: boolean
  name: string
  /** Absent once it is over. */
  nodeId?: string
  /** Why nothing is heard any more. */
  over?: 'ended' | 'limit' | Error
}

/** What is heard now; it lives above the pages and survives navigation. */
export interface Dock {
  /** What is told of each piece of sound: its peak, dBFS. Nothing else on the screen moves with it. */
  levels: { current: ((db: number) => void) | undefined }
  listen(nodeId: string, name: string, enhance?: boolean): Promise<void>
  listening: Listening | undefined
  /** The same recorder, enhanced or raw. */
  listenTo(enhance: boolean): void
  stop(): void
}

/** Listening ends by itself after so long; ms. */
const LONGEST_MS = 30 * 60_000

export function useDock(api: Api): Dock {
  const [listening, setListening] = useState<Listening>()
  // The second click of a double click asks before the first has been answered: the last one is heard, alone.
  const turn = useRef(0)
  const player = useRef<Player>()
  const levels = useRef<(db: number) => void>()
  const silence = (): void => {
    turn.current++
    player.current?.stop()
  }
  const listen: Dock['listen'] = async (nodeId, name, enhance = false) => {
    silence()
    const mine = turn.current
    // Before the first wait: after it this is no tap any more.
    const output = createOutput()
    const over = (why: NonNullable<Listening['over']>): void => {
      if (mine === turn.current) setListening({ buffering: false, enhance, name, over: why })
    }
    const { data: session } = await api
      .send<{ data: ListenSession }>('POST', `/nodes/${encodeURIComponent(nodeId)}/listen`, { enhance })
      .catch((e) => {
        void output.close()
        // What was heard before is not heard any more.
        if (mine === turn.current) setListening(undefined)
        throw e
      })
    const end = (): void => {
      // It ends by itself when nobody polls: a failure here costs nothing.
      api.send('DELETE', session.stopUrl.replace('/api/v1', '')).catch(() => {})
    }
    if (mine !== turn.current) {
      void output.close()
      return end()
    }
    const playing = play(`${session.streamUrl}&continuous=1`, output, {
      buffering: (buffering) =>
        mine === turn.current &&
        setListening((now) => (now?.buffering === buffering ? now : now && { ...now, buffering })),
      ended(error) {
        clearTimeout(timer)
        over(error ?? 'ended')
        end()
      },
      level: (db) => levels.current?.(db),
    })
    player.current = playing
    const timer = setTimeout(() => {
      over('limit')
      silence()
    }, LONGEST_MS)
    setListening({ buffering: true, enhance, name, nodeId })
  }
  const listenTo = (enhance: boolean): void => {
    if (!listening?.nodeId) return
    const { name, nodeId } = listening
    listen(nodeId, name, enhance).catch((over) => setListening({ buffering: false, enhance, name, over }))
  }
  const stop = (): void => {
    silence()
    setListening(undefined)
  }
  // Who leaves stops listening: nobody else has a button for it.
  useEffect(() => silence, [])
  return useMemo(() => ({ levels, listen, listening, listenTo, stop }), [listening])
}

export function DockBar({ dock }: { dock: Dock }) {
  const words = useWords()
  const { listening } = dock
  if (!listening) return null
  const { buffering, enhance, name, nodeId, over } = listening
  return (
    <aside class={css.dock} aria-label={words.rooms.listen}>
      <Icon name="listen" />
      <div class={ui.grow}>
        <p role="status">
          <Name>{over ? overText(over, name, words.dock) : words.rooms.listening(name)}</Name>
          {over instanceof Error && <span class={classes(ui.bad, css.fault)}>{faultText(over, words)}</span>}
          {buffering && <span class={ui.quiet}> {words.rooms.buffering}</span>}
        </p>
        {nodeId !== undefined && (
          <div class={css.heard}>
            <Level levels={dock.levels} />
            <label>
              <input type="checkbox" checked={enhance} onChange={() => dock.listenTo(!enhance)} /> {words.dock.enhanced}
            </label>
          </div>
        )}
      </div>
      <Button icon={over ? 'close' : 'stop'} onClick={dock.stop}>
        {over ? words.common.close : words.common.stop}
      </Button>
    </aside>
  )
}

function overText(over: NonNullable<Listening['over']>, name: string, words: Words['dock']): string {
  return words[over instanceof Error ? 'failed' : over](name)
}

const FLOOR_DB = -60

/** How loud it is: tells silence from a stream that does not come. */
function Level({ levels }: Pick<Dock, 'levels'>) {
  const words = useWords()
  const [db, setDb] = useState(FLOOR_DB)
  useEffect(() => {
    levels.current = (next) => setDb(Math.max(FLOOR_DB, Math.round(next)))
    return () => {
      levels.current = undefined
    }
  }, [])
  return <meter min={FLOOR_DB} max={0} high={-9} value={db} aria-label={words.dock.level(String(db))} />
}
