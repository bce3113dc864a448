// The thread that reads the stream of meters and draws them: the page itself does nothing sixty times a second.
import type { LevelFrame } from '../../wire/meters.ts'
import { eventParser, reconnectMs } from '../data/sse.rules.ts'
import { moved, type Needle, placeOf, still } from './ballistics.rules.ts'
import type { FromThread, MeterColors, ToPage, ToThread } from './messages.ts'

interface Strip {
  addedAt: number
  canvas: OffscreenCanvas
  channels: number[]
  frame?: LevelFrame
  interfaceId: string
  needles: Needle[]
  nodeId: string
  ratio: number
  seen: boolean
  seenAt: number
  told: boolean
}

const STALE_MS = 3000
/** More nodes in one stream are refused (`MeterStream`, src/wire/meters.ts). */
const MAX_WATCHED = 200
const strips = new Map<number, Strip>()
let colors: MeterColors | undefined
let reduced = false
let awake = true
let reading: AbortController | undefined
let attempt = 0
let drawnAt = 0

self.onmessage = ({ data }: MessageEvent<ToThread>) => {
  switch (data.kind) {
    case 'add':
      strips.set(data.id, {
        ...data,
        addedAt: performance.now(),
        needles: data.channels.map(still),
        ratio: 1,
        seen: false,
        seenAt: Number.NEGATIVE_INFINITY,
      })
      return restart()
    case 'remove':
      strips.delete(data.id)
      return restart()
    case 'seen': {
      const strip = strips.get(data.id)
      if (strip) strip.seen = data.seen
      return
    }
    case 'size':
      return resize(data.id, data.width, data.height, data.ratio)
    case 'from':
      path = data.path
      return
    case 'colors':
      colors = data.colors
      return
    case 'awake':
      if (awake === data.awake) return
      awake = data.awake
      return restart()
    case 'tap':
      for (const needle of strips.get(data.id)?.needles ?? []) needle.clipped = false
      return
    case 'still':
      reduced = data.still
      return
    case 'end':
      reading?.abort()
      self.close()
  }
}

function resize(id: number, width: number, height: number, ratio: number): void {
  const strip = strips.get(id)
  if (!strip) return
  strip.ratio = ratio
  strip.canvas.width = Math.round(width * ratio)
  strip.canvas.height = Math.round(height * ratio)
}

let path = '/meter-events'
let pending: ReturnType<typeof setTimeout> | undefined
/** The nodes that are on the screen have changed: many strips come and go at once. */
function restart(): void {
  clearTimeout(pending)
  pending = setTimeout(() => {
    reading?.abort()
    reading = undefined
    if (awake && strips.size > 0) void read()
  }, 50)
}

const say = (message: ToPage): void => self.postMessage(message)

async function read(): Promise<void> {
  const own = new AbortController()
  reading = own
  try {
    const nodes = [...new Set([...strips.values()].map(({ nodeId }) => nodeId))].slice(0, MAX_WATCHED)
    const query = `detail=levels&nodes=${nodes.map(encodeURIComponent).join(',')}`
    const response = await fetch(`/api/v1${path}?${query}`, { credentials: 'same-origin', signal: own.signal })
    // To ask again would get the same answer: the page sees to it, or shows other recorders.
    if (isRefusal(response.status)) return say('refused')
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`)
    const parse = eventParser((name, text) => name === 'levels' && heard(JSON.parse(text) as LevelFrame))
    const body = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await body.read()
      if (done) break
      attempt = 0
      parse(value)
    }
  } catch {
    // The meters say "no data" meanwhile; the page tells of the lost connection.
  }
  if (reading === own && !own.signal.aborted)
    setTimeout(() => reading === own && void read(), reconnectMs(++attempt, Math.random()))
}

const isRefusal = (status: number): boolean => status === 401 || status === 403

function heard(frame: LevelFrame): void {
  for (const strip of strips.values()) {
    if (strip.nodeId !== frame.nodeId || strip.interfaceId !== frame.interfaceId) continue
    strip.frame = frame
    strip.seenAt = performance.now()
    strip.needles.forEach((needle, i) => {
      if (frame.clip.includes(strip.channels[i] as number)) needle.clipped = true
    })
  }
}

/** dBFS of the bar; undefined when its channel is not told. */
function peakOf({ channels, frame }: Strip, bar: number): number | undefined {
  const at = frame?.channels.indexOf(channels[bar] as number) ?? -1
  return at < 0 ? undefined : frame?.peak[at]
}

function draw(): void {
  const now = performance.now()
  const ms = now - drawnAt
  if (!reduced || ms >= 1000) {
    drawnAt = now
    for (const strip of strips.values())
      if (strip.seen || strip.told) drawStrip(strip, now - strip.seenAt > STALE_MS, ms)
  }
  requestAnimationFrame(draw)
}

function drawStrip(strip: Strip, stale: boolean, ms: number): void {
  const context = strip.canvas.getContext('2d')
  if (!context || !colors) return
  const { height, width } = strip.canvas
  context.clearRect(0, 0, width, height)
  const gap = Math.round(2 * strip.ratio)
  const bar = (height - gap * (strip.channels.length - 1)) / strip.channels.length
  strip.needles.forEach((needle, i) => {
    const next = moved(needle, stale ? undefined : peakOf(strip, i), ms)
    strip.needles[i] = next
    drawBar(context, next, { bar, ratio: strip.ratio, stale, top: i * (bar + gap), width }, colors as MeterColors)
  })
  context.fillStyle = colors.line
  for (const db of MARKS) context.fillRect(Math.min(placeOf(db) * width, width - strip.ratio), 0, strip.ratio, height)
}

/** Of the scale, dBFS. */
const MARKS = [-40, -20, -9, 0]

interface Place {
  bar: number
  ratio: number
  stale: boolean
  top: number
  width: number
}

function drawBar(context: OffscreenCanvasRenderingContext2D, needle: Needle, place: Place, paint: MeterColors): void {
  const { bar, ratio, stale, top, width } = place
  context.fillStyle = paint.track
  context.fillRect(0, top, width, bar)
  if (stale) {
    hatch(context, place, paint)
    return
  }
  const marks: [from: number, to: number, color: string][] = [
    [-60, -20, paint.good],
    [-20, -9, paint.warn],
    [-9, 0, paint.bad],
  ]
  for (const [from, to, color] of marks) {
    if (needle.level <= from) continue
    const [left, right] = [placeOf(from) * width, placeOf(Math.min(needle.level, to)) * width]
    context.fillStyle = color
    context.fillRect(left, top, right - left, bar)
  }
  context.fillStyle = paint.text
  context.fillRect(Math.max(0, placeOf(needle.hold) * width - 2 * ratio), top, 2 * ratio, bar)
  if (needle.clipped) {
    context.fillStyle = paint.bad
    context.fillRect(width - 6 * ratio, top, 6 * ratio, bar)
  }
}

/** No frame is not silence: it looks otherwise. */
function hatch(
  context: OffscreenCanvasRenderingContext2D,
  { bar, ratio, top, width }: Place,
  { line }: MeterColors,
): void {
  context.save()
  context.beginPath()
  context.rect(0, top, width, bar)
  context.clip()
  context.strokeStyle = line
  context.lineWidth = ratio
  context.beginPath()
  for (let x = -bar; x < width; x += 8 * ratio) {
    context.moveTo(x, top + bar)
    context.lineTo(x + bar, top)
  }
  context.stroke()
  context.restore()
}

/** In how many parts a second is told: two hundred strips at once are a task that is felt. */
const PARTS = 10
let part = 0

setInterval(() => {
  part = (part + 1) % PARTS
  const now = performance.now()
  const due = [...strips].filter(
    ([id, strip]) => id % PARTS === part && (strip.seen || strip.told) && !isYoung(strip, now),
  )
  if (due.length > 0) say(due.map(([id, strip]) => report(id, strip)))
}, 1000 / PARTS)

/** Nothing has come yet, and nothing had to: that is not said to be missing. */
const isYoung = ({ addedAt, seenAt }: Strip, now: number): boolean => seenAt < addedAt && now - addedAt < STALE_MS

/** What is told of a strip now; without levels when its last frame is old. */
function report(id: number, strip: Strip): FromThread {
  const told: FromThread = { id, synthetic: strip.frame?.synthetic === true }
  if (performance.now() - strip.seenAt <= STALE_MS)
    told.levels = strip.needles.map(({ clipped, level }, i) => ({
      clipped,
      // What has come but is not drawn yet counts too: a meter goes up at once.
      db: Math.round(Math.max(level, peakOf(strip, i) ?? level)),
      speech: strip.frame?.speech.includes(strip.channels[i] as number) === true,
    }))
  return told
}

requestAnimationFrame(draw)
