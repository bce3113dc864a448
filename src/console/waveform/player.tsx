import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Waveform } from '../../wire/recordings.ts'
import { useApp } from '../app/context.ts'
import { useRead } from '../data/reads.ts'
import { lengthOf, timeOf } from '../time/format.rules.ts'
import { Button, classes } from '../ui/parts.tsx'
import { whenRecoloured } from '../ui/theme.ts'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { columns } from './peaks.rules.ts'
import css from './player.module.css'

/** Something at a place of the take: a gap of `seconds`, or a point where `seconds` is 0. */
export interface Moment {
  atSeconds: number
  seconds: number
  text: string
}

interface PlayerProps {
  /** When the first sample was recorded: places are told by the time of the day too. */
  begunAt?: string
  /** Seconds. */
  duration: number
  moments: readonly Moment[]
  src: string
  title: string
  waveform: string
}

const SKIP = 10
const RATES = [0.75, 1, 1.25, 1.5, 1.75, 2]
const POINTS = 2000
const ASK_AGAIN_MS = 2000

/** The waveform is drawn; the range input over it is the control, for mouse, keyboard and screen reader alike. */
export function Player({ begunAt, duration, moments, src, title, waveform }: PlayerProps) {
  const words = useWords()
  const audio = useRef<HTMLAudioElement>(null)
  const [at, setAt] = useState(0)
  const [playing, setPlaying] = useState(false)
  const [broken, setBroken] = useState(false)
  useEffect(() => setBroken(false), [src])
  const kept = useKeptPosition(audio, src)
  const seek = (seconds: number): void => {
    kept.current.at = seconds
    if (audio.current) audio.current.currentTime = seconds
    setAt(seconds)
  }
  const toggle = (): void => {
    const element = audio.current
    if (element?.paused) start(element)
    else element?.pause()
  }
  const skip = (by: number): void => seek(Math.min(duration, Math.max(0, (audio.current?.currentTime ?? at) + by)))
  useLockScreen(title, playing, { skip, toggle })
  const time = `${lengthOf(at)} / ${lengthOf(duration)}`
  const ofDay = useTimeOfDay(begunAt, at)
  return (
    <div class={css.player}>
      <Waves duration={duration} moments={moments} waveform={waveform}>
        <input
          type="range"
          aria-label={words.take.position}
          aria-valuetext={[time, ofDay].filter(Boolean).join(', ')}
          min={0}
          max={Math.max(1, Math.ceil(duration))}
          step={1}
          value={Math.floor(at)}
          onInput={(e) => seek(Number(e.currentTarget.value))}
          onKeyDown={(e) => jump(e, skip, toggle)}
        />
      </Waves>
      <Controls playing={playing} skip={skip} toggle={toggle}>
        <Rate audio={audio} />
        <span class={classes(ui.numbers)}>{time}</span>
      </Controls>
      <Places moments={moments} seek={seek} />
      {broken && <Notice retry={() => audio.current?.load()} text={words.take.unplayable} />}
      {/* biome-ignore lint/a11y/useMediaCaption: a take of a room has no captions */}
      <audio
        ref={audio}
        preload="metadata"
        src={src}
        onEmptied={() => setPlaying(false)}
        onError={() => setBroken(true)}
        onLoadedMetadata={() => setBroken(false)}
        onPause={() => setPlaying(false)}
        onPlay={() => setPlaying(true)}
        onTimeUpdate={({ currentTarget }) => isLoaded(currentTarget) && setAt(currentTarget.currentTime)}
      />
    </div>
  )
}

interface ControlsProps {
  children: ComponentChildren
  playing: boolean
  skip(by: number): void
  toggle(): void
}

function Controls({ children, playing, skip, toggle }: ControlsProps) {
  const words = useWords()
  return (
    <div class={css.controls}>
      <Button icon={playing ? 'pause' : 'play'} kind="primary" onClick={toggle}>
        {playing ? words.take.pause : words.library.play}
      </Button>
      <Button aria-label={words.take.back} onClick={() => skip(-SKIP)}>
        −10
      </Button>
      <Button aria-label={words.take.forward} onClick={() => skip(SKIP)}>
        +10
      </Button>
      {children}
    </div>
  )
}

function Places({ moments, seek }: { moments: readonly Moment[]; seek(seconds: number): void }) {
  if (moments.length === 0) return null
  return (
    <ul class={ui.rows}>
      {moments.map(({ atSeconds, text }) => (
        <li key={`${atSeconds} ${text}`}>
          <Button onClick={() => seek(atSeconds)}>{text}</Button>
        </li>
      ))}
    </ul>
  )
}

/** What is being loaded tells of its beginning, where nobody has put it. */
const isLoaded = ({ readyState }: HTMLMediaElement): boolean => readyState > 0

/** A refusal is told by the element's own event. */
const start = (element: HTMLMediaElement): void => void element.play().catch(() => {})

/** The time of the day in the zone of the site, `14:05`. */
function useTimeOfDay(begunAt: string | undefined, seconds: number): string | undefined {
  const { timeFormat } = useApp()
  return begunAt && timeOf(new Date(Date.parse(begunAt) + seconds * 1000).toISOString(), timeFormat)
}

function Notice({ retry, text }: { retry(): void; text: string }) {
  const words = useWords()
  return (
    <div role="alert" class={classes(ui.notice, ui.bad)}>
      <span class={ui.grow}>{text}</span>
      <Button onClick={retry}>{words.common.retry}</Button>
    </div>
  )
}

interface WavesProps {
  children: ComponentChildren
  duration: number
  moments: readonly Moment[]
  waveform: string
}

function Waves({ children, duration, moments, waveform }: WavesProps) {
  const words = useWords()
  const join = waveform.includes('?') ? '&' : '?'
  const wave = useRead<{ data: Waveform }>(
    `${waveform}${join}points=${POINTS}`,
    [],
    ({ data }) => data.state === 'pending' && ASK_AGAIN_MS,
  )
  return (
    <>
      <div class={css.wave}>
        <Wave channels={wave.data?.data.channels ?? []} duration={duration} moments={moments} />
        {children}
      </div>
      {wave.data?.data.state === 'pending' && (
        <p role="status" class={classes(ui.small, ui.quiet)}>
          {words.player.drawing}
        </p>
      )}
      {wave.error && <Notice retry={() => void wave.refetch()} text={words.player.undrawn} />}
    </>
  )
}

function Rate({ audio }: { audio: { current: HTMLAudioElement | null } }) {
  const words = useWords()
  const choose = (rate: number): void => {
    if (!audio.current) return
    // What is loaded next begins with the one by default.
    audio.current.defaultPlaybackRate = rate
    audio.current.playbackRate = rate
  }
  return (
    <label class={css.rate}>
      {words.take.rate}
      <select onChange={(e) => choose(Number(e.currentTarget.value))}>
        {RATES.map((rate) => (
          <option key={rate} value={rate} selected={rate === 1}>
            {rate.toLocaleString(words.locale)}×
          </option>
        ))}
      </select>
    </label>
  )
}

const JUMPS: Record<string, number> = {
  ArrowDown: -5,
  ArrowLeft: -5,
  ArrowRight: 5,
  ArrowUp: 5,
  PageDown: -30,
  PageUp: 30,
  j: -SKIP,
  l: SKIP,
}

/** Keys of the slider: arrows 5 s, page keys 30 s, J and L 10 s, space plays. */
function jump(e: KeyboardEvent, by: (seconds: number) => void, toggle: () => void): void {
  if (e.ctrlKey || e.metaKey || e.altKey) return
  if (e.key === ' ') {
    e.preventDefault()
    toggle()
  }
  const seconds = JUMPS[e.key]
  if (seconds === undefined) return
  e.preventDefault()
  by(seconds)
}

/** The buttons of a phone's lock screen and of a headset. */
function useLockScreen(
  title: string,
  playing: boolean,
  { skip, toggle }: { skip(by: number): void; toggle(): void },
): void {
  useEffect(() => {
    const session = navigator.mediaSession
    if (!session || !playing) return
    const deeds: [MediaSessionAction, () => void][] = [
      ['pause', toggle],
      ['play', toggle],
      ['seekbackward', () => skip(-SKIP)],
      ['seekforward', () => skip(SKIP)],
    ]
    session.metadata = new MediaMetadata({ title })
    for (const [name, deed] of deeds) session.setActionHandler(name, deed)
    return () => {
      for (const [name] of deeds) session.setActionHandler(name, null)
    }
  }, [playing, title])
}

/** What is loaded anew, or another rendition of the same take, goes on where it was. */
function useKeptPosition(audio: { current: HTMLAudioElement | null }, src: string) {
  const kept = useRef({ at: 0, playing: false })
  useEffect(() => {
    const element = audio.current
    if (!element) return
    const resume = (): void => {
      const { at, playing } = kept.current
      if (at > 0) element.currentTime = at
      if (playing) start(element)
    }
    const note = (): void => {
      if (isLoaded(element)) kept.current = { at: element.currentTime, playing: !element.paused }
    }
    element.addEventListener('loadedmetadata', resume)
    element.addEventListener('timeupdate', note)
    return () => {
      element.removeEventListener('timeupdate', note)
      element.removeEventListener('loadedmetadata', resume)
    }
  }, [src])
  return kept
}

interface WaveProps {
  channels: { max: number[]; min: number[] }[]
  duration: number
  moments: readonly Moment[]
}

function Wave({ channels, duration, moments }: WaveProps) {
  const ref = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const canvas = ref.current
    if (!canvas) return
    const draw = (): void => drawWave(canvas, { channels, duration, moments })
    const observer = new ResizeObserver(draw)
    observer.observe(canvas)
    const recoloured = whenRecoloured(draw)
    return () => {
      observer.disconnect()
      recoloured()
    }
  }, [channels, duration, moments.length])
  return <canvas ref={ref} />
}

function drawWave(canvas: HTMLCanvasElement, { channels, duration, moments }: WaveProps): void {
  const context = canvas.getContext('2d')
  if (!context) return
  canvas.width = Math.round(canvas.clientWidth * devicePixelRatio)
  canvas.height = Math.round(canvas.clientHeight * devicePixelRatio)
  const { height, width } = canvas
  const style = getComputedStyle(canvas)
  context.fillStyle = style.color
  columns(channels, width).forEach(({ high, low }, x) => {
    const top = (1 - high) * (height / 2)
    context.fillRect(x, top, 1, Math.max(1, (high - low) * (height / 2)))
  })
  if (duration <= 0) return
  context.strokeStyle = style.color
  for (const { atSeconds, seconds } of moments) {
    const left = (atSeconds / duration) * width
    const wide = Math.max(2, (seconds / duration) * width)
    if (seconds > 0) context.clearRect(left, 0, wide, height)
    context.strokeRect(left, 0, wide, height)
  }
}
