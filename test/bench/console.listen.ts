// Live listening in a browser: gaps between what it plays, and how late a click of the room is heard.
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Page } from 'playwright-core'
import { layProc } from '../e2e/card.ts'
import { counterEnv } from '../e2e/counted.ts'
import { CHROMIUM, signIn } from '../kit/browser.ts'
import { median, quantile, type Row } from './measure.ts'
import { type Recorder, recorder } from './recorder.ts'
import { ADMIN, type Place } from './world.ts'

const CARD = 'Desk'
const CLICKER = path.join(import.meta.dirname, 'clicker.ts')
/** The clock shows so many whole seconds at each click. */
const EVERY_MS = 5000

/** `--minutes` of listening, through the page of a room. */
export async function consoleListen(place: Place): Promise<Row[]> {
  const asound = path.join(place.dir, 'asound')
  layProc(asound, [CARD])
  const machine = await recorder(place, counterEnv(place.dir, asound, CARD, CLICKER))
  const browser = await chromium.launch({
    args: ['--no-sandbox', '--disable-gpu', '--autoplay-policy=no-user-gesture-required'],
    executablePath: CHROMIUM,
  })
  try {
    const page = await browser.newPage()
    return rows(await listened(page, machine, place.minutes), place.minutes)
  } finally {
    await browser.close()
    await machine.stop()
  }
}

interface Heard {
  /** Unix ms of each click, as it comes out of the loudspeaker. */
  clicks: number[]
  /** Beginning and length on the clock of the sound, seconds. */
  pieces: [at: number, length: number][]
  /** Pieces that were cut off to come back to the present. */
  skipped: number
}

/** In the page: what is given to the browser to be played, and when. */
const WATCH = `(() => {
  const heard = (window.heard = { clicks: [], pieces: [], skipped: 0 })
  const { start, stop } = AudioBufferSourceNode.prototype
  AudioBufferSourceNode.prototype.start = function (at) {
    const { buffer, context } = this
    const sounds = Date.now() + (at - context.currentTime + (context.outputLatency || 0)) * 1000
    heard.pieces.push([at, buffer.duration])
    buffer.getChannelData(0).forEach((value, i) => {
      const ms = sounds + (i / buffer.sampleRate) * 1000
      if (Math.abs(value) > 0.3 && ms - (heard.clicks.at(-1) ?? 0) > 1000) heard.clicks.push(ms)
    })
    return start.apply(this, arguments)
  }
  AudioBufferSourceNode.prototype.stop = function () {
    heard.skipped++
    return stop.apply(this, arguments)
  }
})()`

async function listened(page: Page, machine: Recorder, minutes: number): Promise<Heard> {
  const { node, world } = machine
  await machine.device(CARD)
  const { data: room } = await world.call('POST', '/rooms', { name: 'Hall', site: 'Main building' })
  await world.call('PATCH', `/nodes/${node.id}`, { roomId: room.id })
  await page.addInitScript(WATCH)
  await page.goto(`${world.controller.url}/rooms/${room.id}`)
  await signIn(page, ADMIN)
  await page.getByRole('button', { name: 'Listen', exact: true }).click()
  await sleep(minutes * 60_000)
  return (await page.evaluate('heard')) as Heard
}

function rows({ clicks, pieces, skipped }: Heard, minutes: number): Row[] {
  const gaps = pieces.slice(1).map(([at], i) => {
    const [before = 0, length = 0] = pieces[i] ?? []
    return (at - before - length) * 1000
  })
  const late = clicks.map((ms) => ms % EVERY_MS)
  const told = `${minutes.toFixed(1)} minutes, ${pieces.length} pieces`
  const missing = Math.max(0, Math.round(((clicks.at(-1) ?? 0) - (clicks[0] ?? 0)) / EVERY_MS) + 1 - clicks.length)
  return [
    {
      name: 'console-listen-gap',
      measured: Math.max(0, ...gaps),
      limit: 10,
      unit: 'ms',
      bound: 'most',
      how: `the longest of ${gaps.filter((ms) => ms > 10).length} gaps over 10 ms; ${told}; ${skipped} pieces skipped, ${missing} clicks missing of ${clicks.length + missing}`,
    },
    {
      name: 'console-listen-delay',
      measured: clicks.length === 0 ? Number.NaN : Math.max(...late),
      limit: 1500,
      unit: 'ms',
      bound: 'most',
      how: `from a click at the card to the loudspeaker, the longest; median ${median(late).toFixed(0)} ms, p95 ${quantile(late, 0.95).toFixed(0)} ms`,
    },
  ]
}
