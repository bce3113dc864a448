// The page's end of the thread of the meters: begun with the first strip, ended with the last.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { whileSeen } from '../data/seen.ts'
import { whenRecoloured } from '../ui/theme.ts'
import type { FromThread, MeterColors, ToPage, ToThread } from './messages.ts'

interface Wanted {
  channels: number[]
  interfaceId: string
  nodeId: string
  /** Whether the levels are wanted wherever the strip is. */
  told: boolean
}

interface Meters {
  add(
    canvas: HTMLCanvasElement,
    wanted: Wanted,
    tell: (told: FromThread) => void,
  ): { remove(): void; seen(is: boolean): void; size(width: number, height: number): void; tap(): void }
  /** Ends the thread, and what is listened to for it. */
  close(): void
  /** Nothing is asked for while it rests. */
  rest(is: boolean): void
}

export const MetersContext = createContext<Meters | undefined>(undefined)
export const useMeters = (): Meters | undefined => useContext(MetersContext)

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string }
}

/** The one address a script may be started from; made once, since a document makes a policy of a name only once. */
const policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy('roomtone', {
  createScriptURL(url) {
    if (url !== METERS_THREAD) throw new TypeError(`no script of this page: ${url}`)
    return url
  },
})

/** `refused` is called when the stream may not be had; `path`: where the levels come from. */
export function createMeters(refused: () => void, path = '/meter-events'): Meters {
  const tellers = new Map<number, (told: FromThread) => void>()
  const calm = matchMedia('(prefers-reduced-motion: reduce)')
  let worker: Worker | undefined
  let ids = 0
  const send = (message: ToThread, transfer: Transferable[] = []): void => worker?.postMessage(message, transfer)
  const paint = (): void => {
    send({ colors: colorsNow(), kind: 'colors' })
    send({ kind: 'still', still: calm.matches })
  }
  let shown = true
  let resting = false
  const wake = (): void => send({ awake: shown && !resting, kind: 'awake' })
  const begin = (): void => {
    worker = new Worker(policy?.createScriptURL(METERS_THREAD) ?? METERS_THREAD, { type: 'module' })
    worker.onmessage = ({ data }: MessageEvent<ToPage>) => {
      if (data === 'refused') return refused()
      for (const told of data) tellers.get(told.id)?.(told)
    }
    send({ kind: 'from', path })
    wake()
    paint()
  }
  const end = (): void => {
    send({ kind: 'end' })
    worker = undefined
  }
  calm.addEventListener('change', paint)
  const unpainted = whenRecoloured(paint)
  const show = (is: boolean) => (): void => {
    shown = is
    wake()
  }
  const unseen = whileSeen(show(true), show(false))
  return {
    add(canvas, wanted, tell) {
      if (!worker) begin()
      const id = ++ids
      tellers.set(id, tell)
      const offscreen = canvas.transferControlToOffscreen()
      send({ canvas: offscreen, id, kind: 'add', ...wanted }, [offscreen])
      return {
        remove() {
          tellers.delete(id)
          send({ id, kind: 'remove' })
          if (tellers.size === 0) end()
        },
        seen: (seen) => send({ id, kind: 'seen', seen }),
        size: (width, height) => send({ height, id, kind: 'size', ratio: devicePixelRatio, width }),
        tap: () => send({ id, kind: 'tap' }),
      }
    },
    close() {
      calm.removeEventListener('change', paint)
      unpainted()
      unseen()
      end()
    },
    rest(is) {
      resting = is
      wake()
    },
  }
}

/** Colours as the theme has them now. */
function colorsNow(): MeterColors {
  const probe = document.createElement('span')
  probe.hidden = true
  document.body.append(probe)
  const color = (name: string): string => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  const colors = {
    bad: color('bad'),
    good: color('good'),
    line: color('control-line'),
    text: color('text'),
    track: color('raised'),
    warn: color('warn'),
  }
  probe.remove()
  return colors
}
