import { useRef, useState } from 'preact/hooks'
import type { ListenSession } from '../../wire/listen.ts'
import type { Api } from '../data/api.ts'
import { faultText } from '../ui/fault.rules.ts'
import { Icon } from '../ui/icon.tsx'
import { Button, classes, Name } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import css from './dock.module.css'
import { createOutput, type Player, play } from './player.ts'

interface Listening {
  buffering: boolean
  error?: Error
  name: string
  nodeId: string
}

/** What is heard now; it lives above the pages and survives navigation. */
export interface Dock {
  listen(nodeId: string, name: string): Promise<void>
  listening: Listening | undefined
  stop(): void
}

/** Nobody listens longer without a sign of life; ms. */
const LONGEST_MS = 30 * 60_000

export function useDock(api: Api): Dock {
  const [listening, setListening] = useState<Listening>()
  // The second click of a double click asks before the first has been answered: the last one is heard, alone.
  const turn = useRef(0)
  const player = useRef<Player>()
  const stop = (): void => {
    turn.current++
    player.current?.stop()
  }
  return {
    async listen(nodeId, name) {
      stop()
      const mine = turn.current
      // Before the first wait: after it this is no tap any more.
      const output = createOutput()
      const { data: session } = await api
        .send<{ data: ListenSession }>('POST', `/nodes/${nodeId}/listen`, {})
        .catch((e) => {
          void output.close()
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
        buffering: (buffering) => mine === turn.current && setListening((now) => now && { ...now, buffering }),
        ended(error) {
          clearTimeout(timer)
          if (mine === turn.current) setListening((now) => (error && now ? { ...now, error } : undefined))
          end()
        },
      })
      player.current = playing
      const timer = setTimeout(playing.stop, LONGEST_MS)
      setListening({ buffering: true, name, nodeId })
    },
    listening,
    stop() {
      stop()
      setListening(undefined)
    },
  }
}

export function DockBar({ dock }: { dock: Dock }) {
  const words = useWords()
  const { listening } = dock
  if (!listening) return null
  return (
    <aside class={css.dock} aria-label={words.rooms.listen}>
      <Icon name="listen" />
      <p class={ui.grow}>
        <Name>{words.rooms.listening(listening.name)}</Name>
        {listening.error && <span class={classes(ui.bad, css.fault)}>{faultText(listening.error, words)}</span>}
        {listening.buffering && !listening.error && <span class={ui.quiet}> {words.rooms.buffering}</span>}
      </p>
      <Button icon="stop" onClick={dock.stop}>
        {words.common.stop}
      </Button>
    </aside>
  )
}
