import { useEffect, useRef, useState } from 'preact/hooks'
import type { Interface } from '../../wire/nodes.ts'
import { Button, classes } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import type { Words } from '../words/en.ts'
import { useWords } from '../words/words.ts'
import { namedChannels } from './channels.rules.ts'
import type { FromThread } from './messages.ts'
import css from './strip.module.css'
import { useMeters } from './thread.ts'

type Device = Pick<Interface, 'channelCount' | 'channels' | 'id'>

interface MeterStripProps {
  /** Among many others: the channels of a large device have thin bars without names. */
  dense?: boolean
  device: Device
  nodeId: string
  /** Told once a second: the level of each channel, dBFS. */
  tell?: (levels: number[]) => void
}

/** The levels of one device. An element gives its canvas away only once: of other channels it is another strip. */
export function MeterStrip({ dense, device, nodeId, tell }: MeterStripProps) {
  const words = useWords()
  const channels = namedChannels(device, words.meter.channel)
  const key = [nodeId, device.id, ...channels.map(({ index }) => index)].join(' ')
  const thin = dense === true && channels.length > MAX_NAMED
  return <Strip key={key} channels={channels} interfaceId={device.id} nodeId={nodeId} tell={tell} thin={thin} />
}

interface StripProps {
  channels: ReturnType<typeof namedChannels>
  interfaceId: string
  nodeId: string
  tell: MeterStripProps['tell']
  thin: boolean
}

const ROW_PX = 28
const THIN_ROW_PX = 6
const FLOOR_DB = -60
/** Channels of a device that are named wherever it is shown. */
const MAX_NAMED = 4

function Strip({ channels, interfaceId, nodeId, tell, thin }: StripProps) {
  const words = useWords()
  const meters = useMeters()
  const canvas = useRef<HTMLCanvasElement>(null)
  const forget = useRef(() => {})
  const [told, setTold] = useState<FromThread>()
  useEffect(() => {
    const element = canvas.current
    if (!meters || !element) return
    element.style.blockSize = `${channels.length * (thin ? THIN_ROW_PX : ROW_PX) - 2}px`
    const wanted = { channels: channels.map(({ index }) => index), interfaceId, nodeId, told: tell !== undefined }
    const strip = meters.add(element, wanted, (now) => {
      setTold(now)
      if (now.levels) tell?.(now.levels.map(({ db }) => db))
    })
    const onScreen = new IntersectionObserver((all) => strip.seen(all.at(-1)?.isIntersecting === true))
    onScreen.observe(element)
    const observer = new ResizeObserver(() => strip.size(element.clientWidth, element.clientHeight))
    observer.observe(element)
    forget.current = strip.tap
    return () => {
      observer.disconnect()
      onScreen.disconnect()
      strip.remove()
    }
  }, [])
  const levels = channels.map((channel, i) => ({ ...channel, level: told?.levels?.[i] }))
  const clipped = levels.filter(({ level }) => level?.clipped)
  return (
    <div class={classes(css.strip, thin && css.thin)}>
      <div>
        {(thin ? loudest(levels) : levels).map((channel) => (
          <div key={thin ? 0 : channel.index} class={css.cell}>
            <Reading {...channel} />
          </div>
        ))}
      </div>
      <canvas ref={canvas} class={css.canvas} />
      {clipped.length > 0 && (
        <p>
          <Button kind="danger" onClick={() => forget.current()}>
            {words.meter.forget(clipped.map(({ label }) => label).join(', '))}
          </Button>
        </p>
      )}
      {told && !told.levels && <p class={classes(ui.small, ui.warn)}>{words.meter.noData}</p>}
      {told?.synthetic && <p class={classes(ui.small, ui.quiet)}>{words.rooms.madeUp}</p>}
    </div>
  )
}

type Level = NonNullable<FromThread['levels']>[number]
interface ReadingProps {
  index: number
  label: string
  level: Level | undefined
}

/** The one that stands for all channels of a device that shows no names. */
const loudest = (all: ReadingProps[]): ReadingProps[] =>
  all.toSorted((a, b) => (b.level?.db ?? FLOOR_DB) - (a.level?.db ?? FLOOR_DB)).slice(0, 1)

function valueText(words: Words['meter'], label: string, level: Level | undefined): string {
  if (!level) return words.noData
  const value = words.value(label, String(level.db), level.speech)
  return level.clipped ? `${value}, ${words.clipped}` : value
}

function Reading({ label, level }: ReadingProps) {
  const words = useWords()
  return (
    // biome-ignore lint/a11y/useSemanticElements: the native one draws a bar of its own
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={FLOOR_DB}
      aria-valuemax={0}
      aria-valuenow={level?.db ?? FLOOR_DB}
      aria-valuetext={valueText(words.meter, label, level)}
      class={css.name}
    >
      <bdi>{label}</bdi>
      <span class={classes(ui.numbers, ui.quiet)}>{level ? level.db : '–'}</span>
    </div>
  )
}
