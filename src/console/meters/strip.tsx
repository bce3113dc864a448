import { useEffect, useRef, useState } from 'preact/hooks'
import type { Interface } from '../../wire/nodes.ts'
import { classes } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { namedChannels } from './channels.rules.ts'
import type { FromThread } from './messages.ts'
import css from './strip.module.css'
import { useMeters } from './thread.ts'

interface MeterStripProps {
  device: Interface
  nodeId: string
  /** Told once a second: the level of each channel, dBFS. */
  tell?: (levels: number[]) => void
}

/** The levels of one device. An element gives its canvas away only once: of other channels it is another strip. */
export function MeterStrip({ device, nodeId, tell }: MeterStripProps) {
  const words = useWords()
  const channels = namedChannels(device, words.meter.channel)
  const key = [nodeId, device.id, ...channels.map(({ index }) => index)].join(' ')
  return <Strip key={key} channels={channels} interfaceId={device.id} nodeId={nodeId} tell={tell} />
}

interface StripProps {
  channels: ReturnType<typeof namedChannels>
  interfaceId: string
  nodeId: string
  tell: MeterStripProps['tell']
}

const ROW_PX = 28

/** A tap forgets what has clipped. */
function Strip({ channels, interfaceId, nodeId, tell }: StripProps) {
  const words = useWords()
  const meters = useMeters()
  const canvas = useRef<HTMLCanvasElement>(null)
  const [told, setTold] = useState<FromThread>()
  useEffect(() => {
    const element = canvas.current
    if (!meters || !element) return
    element.style.blockSize = `${channels.length * ROW_PX - 2}px`
    const strip = meters.add(element, { channels: channels.map(({ index }) => index), interfaceId, nodeId }, (now) => {
      setTold(now)
      if (now.levels) tell?.(now.levels.map(({ db }) => db))
    })
    const observer = new ResizeObserver(() => strip.size(element.clientWidth, element.clientHeight))
    observer.observe(element)
    element.addEventListener('click', strip.tap)
    return () => {
      observer.disconnect()
      strip.remove()
    }
  }, [])
  return (
    <div class={css.strip}>
      <div class={css.names}>
        {channels.map(({ index, label }, i) => {
          const level = told?.levels?.[i]
          return (
            // biome-ignore lint/a11y/useSemanticElements: the native one draws a bar of its own
            <div
              key={index}
              role="meter"
              aria-label={label}
              aria-valuemin={-60}
              aria-valuemax={0}
              aria-valuenow={level?.db ?? -60}
              aria-valuetext={level ? words.meter.value(label, String(level.db), level.speech) : words.meter.noData}
              class={css.name}
            >
              <bdi>{label}</bdi>
              <span class={classes(ui.numbers, ui.quiet)}>{level ? level.db : '–'}</span>
            </div>
          )
        })}
      </div>
      <canvas ref={canvas} class={css.canvas} />
      {told && !told.levels && <p class={classes(ui.small, ui.warn)}>{words.meter.noData}</p>}
      {told?.synthetic && <p class={classes(ui.small, ui.quiet)}>{words.rooms.madeUp}</p>}
    </div>
  )
}
