// The console in Chromium, against the built executable with a fleet of recorders.
import * as os from 'node:os'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, type CDPSession, chromium, type Page, type Request } from 'playwright-core'
import { Db } from '../../src/controller/store/db.ts'
import { CHROMIUM } from '../kit/browser.ts'
import { crowd, lookers, type Pace } from './console.crowd.ts'
import { median, type Row } from './measure.ts'
import { cpuMs } from './programs.ts'
import { ADMIN, enroll, type Fleet, fleet, type Place } from './world.ts'

const NODES = 200
const CHANNELS = 32
const LOOKING = 20
const ROUNDS = 3
const QUICK_PER_SECOND = 4
/** A phone on a bad line. */
const LINE = { downloadThroughput: 1.6e6 / 8, latency: 150, offline: false, uploadThroughput: 0.75e6 / 8 }
const PHONE = { height: 740, width: 360 }
const SCREEN = { height: 1080, width: 1920 }
const CPU_MS = 30_000
const SETTLE_MS = 15_000
const PRIORITY = -10
const FRAMES_MS = 60_000

/** All rows. `--minutes`: how long Today and Wall are watched each (2 at least; an hour for the heap). */
export async function consoleRows(place: Place): Promise<Row[]> {
  const world = await fleet(place)
  const stop = new AbortController()
  const browser = await chromium.launch({
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
    executablePath: CHROMIUM,
  })
  // The controller and its recorders are other machines than the browser.
  for (const pid of [world.controller.pid, process.pid]) ahead(pid)
  try {
    const rows = await opening(browser, world)
    const nodes = await enroll(world, NODES, CHANNELS)
    const pace: Pace = { quick: undefined, refused: 0 }
    const running = crowd(world, nodes, pace, CHANNELS, stop.signal)
    const failed = new Promise<never>((_, reject) => running.catch(reject))
    failed.catch(() => {})
    const measured = async (): Promise<void> => {
      const watchMs = Math.max(2, place.minutes) * 60_000
      rows.push(await streams(world))
      rows.push(...(await today(browser, world, watchMs)))
      rows.push(...(await wall(browser, world, pace, watchMs)))
    }
    await Promise.race([measured(), failed])
    stop.abort()
    await running
    return rows
  } finally {
    stop.abort()
    await browser.close()
    await world.controller.stop()
  }
}

function ahead(pid: number): void {
  try {
    os.setPriority(pid, PRIORITY)
  } catch {
    // Root's to give; without it the figures are those of a busier machine.
  }
}

interface Opened {
  /** Requests of the API among them. */
  api: number
  requests: number
  signInMs: number
  todayMs: number
}

/** What can be used from when on, by the page's own clock, cold. */
async function opening(browser: Browser, world: Fleet): Promise<Row[]> {
  const rounds: Opened[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push(await openedOnce(browser, world))
  const of = (what: keyof Opened) => rounds.map((one) => one[what])
  const how = (what: keyof Opened) =>
    `6x slower CPU, 1.6 Mbit/s, 150 ms, nothing cached; ${of(what)
      .map((ms) => ms.toFixed(0))
      .join(', ')}`
  const common = { bound: 'most', unit: 'ms' } as const
  return [
    { ...common, name: 'console-sign-in', measured: median(of('signInMs')), limit: 2500, how: how('signInMs') },
    {
      ...common,
      name: 'console-today',
      measured: median(of('todayMs')),
      limit: 3500,
      how: `from "Sign in"; ${how('todayMs')}; of it the password costs what it costs the controller`,
    },
    {
      ...common,
      name: 'console-today-requests',
      measured: Math.max(...of('requests')),
      limit: 10,
      unit: 'requests',
      how: `from "Sign in" until it can be used; ${Math.max(...of('api'))} of the API, streams among them, the rest parts of the page`,
    },
  ]
}

/** In the page: when the form and the pages could be used, looked at before every frame. */
const WATCH = `(() => {
  const seen = (window.seen = {})
  addEventListener('submit', () => (seen.submit = performance.now()), true)
  const look = () => {
    if (!seen.form && document.querySelector('form input[type=password]')) seen.form = performance.now()
    const page = seen.submit && document.querySelector('main h1') && document.querySelector('main section')
    if (page && !seen.today && !document.querySelector('main [role=status]')) seen.today = performance.now()
    requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
})()`

async function openedOnce(browser: Browser, world: Fleet): Promise<Opened> {
  const context = await browser.newContext({ viewport: PHONE })
  try {
    const page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    await devtools.send('Network.enable')
    await devtools.send('Network.emulateNetworkConditions', LINE)
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: 6 })
    await page.addInitScript(WATCH)
    await page.goto(world.controller.url)
    await until(page, 'seen.form')
    const asked: string[] = []
    await page.getByLabel('E-mail').fill(ADMIN.email)
    await page.getByLabel('Password').fill(ADMIN.password)
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await until(page, 'seen.today')
    const seen = (await page.evaluate('seen')) as { form: number; submit: number; today: number }
    const api = asked.filter((address) => address.startsWith('/api/')).length
    return { api, requests: asked.length, signInMs: seen.form, todayMs: seen.today - seen.submit }
  } finally {
    await context.close()
  }
}

/** Asked by the debugger: the policy of the page lets it evaluate nothing. */
async function until(page: Page, what: string): Promise<void> {
  while (!(await page.evaluate(what))) await sleep(100)
}

/** What the controller takes of a core while people look on and nothing happens. */
async function streams(world: Fleet): Promise<Row> {
  const end = await lookers(world, LOOKING)
  try {
    await sleep(SETTLE_MS)
    return {
      name: 'console-controller',
      measured: await coreShare(world, CPU_MS),
      limit: 0.15,
      unit: 'of a core',
      bound: 'most',
      how: `${LOOKING} change streams; ${NODES} recorders: heartbeat every 5 s, open polls for config and work`,
    }
  } finally {
    end()
  }
}

async function coreShare({ controller }: Fleet, ms: number): Promise<number> {
  const [cpu, from] = [cpuMs(controller.pid), performance.now()]
  await sleep(ms)
  return (cpuMs(controller.pid) - cpu) / (performance.now() - from)
}

/** A page of a person who has just signed in. */
async function signedIn(browser: Browser, world: Fleet): Promise<{ devtools: CDPSession; page: Page }> {
  const context = await browser.newContext({ viewport: SCREEN })
  const page = await context.newPage()
  await page.goto(world.controller.url)
  await page.getByLabel('E-mail').fill(ADMIN.email)
  await page.getByLabel('Password').fill(ADMIN.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
  return { devtools: await context.newCDPSession(page), page }
}

/** MiB that are in use once the garbage is gone. */
async function heap(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage')
  return (await devtools.send('Runtime.getHeapUsage')).usedSize / 2 ** 20
}

const minutesOf = (ms: number): string => `${(ms / 60_000).toFixed(0)} minutes`

const growth = (name: string, from: number, to: number, how: string): Row => ({
  name: `console-heap-${name}`,
  measured: Math.max(0, to - from),
  limit: 10,
  unit: 'MiB more',
  bound: 'most',
  how: `${how}; ${from.toFixed(1)} MiB, then ${to.toFixed(1)} MiB, garbage collected (the page, not the thread of its meters)`,
})

const isStream = (request: Request): boolean => /\/api\/v1\/(meter-)?events(\?|$)/.test(request.url())

/** Nobody touches it: what it asks, what that leaves in the audit, what it keeps. */
async function today(browser: Browser, world: Fleet, ms: number): Promise<Row[]> {
  const { devtools, page } = await signedIn(browser, world)
  await sleep(SETTLE_MS)
  const asked: string[] = []
  page.on('request', (request) => isStream(request) || asked.push(new URL(request.url()).pathname))
  const [rows, before] = [audited(world), await heap(devtools)]
  await sleep(ms)
  const [left, after] = [audited(world) - rows, await heap(devtools)]
  await page.context().close()
  const how = `Today for ${minutesOf(ms)}, ${NODES} recorders`
  return [
    {
      name: 'console-idle',
      measured: asked.length,
      limit: 0,
      unit: 'requests',
      bound: 'most',
      how: `${how}, without streams ${[...new Set(asked)].join(' ')}`,
    },
    {
      name: 'console-audit',
      measured: left / (ms / 3_600_000),
      limit: 4,
      unit: 'rows/h',
      bound: 'most',
      how: `${how}; ${left} rows of people`,
    },
    growth('today', before, after, how),
  ]
}

/** Rows of the audit that people left. */
function audited({ data }: Fleet): number {
  const db = new Db(path.join(data, 'roomtone.db'), undefined, { plain: true })
  try {
    const count = db.raw.prepare(`SELECT count(*) AS n FROM audit_events WHERE actor_type = 'user'`).get()
    return (count as { n: number }).n
  } finally {
    db.close()
  }
}

/** Every channel of every recorder, watched. */
async function wall(browser: Browser, world: Fleet, pace: Pace, ms: number): Promise<Row[]> {
  const { devtools, page } = await signedIn(browser, world)
  pace.quick = 0
  await page.goto(`${world.controller.url}/wall`)
  await page
    .getByRole('listitem')
    .nth(NODES - 1)
    .waitFor()
  pace.quick = QUICK_PER_SECOND
  await sleep(SETTLE_MS)
  const before = await heap(devtools)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 })
  const [frames, share, long] = await Promise.all([drawn(page), coreShare(world, FRAMES_MS), longTasks(page)])
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: 1 })
  await sleep(Math.max(0, ms - FRAMES_MS))
  const after = await heap(devtools)
  await page.context().close()
  pace.quick = undefined
  const how = `${NODES} recorders of ${CHANNELS} channels, ${QUICK_PER_SECOND} frames/s of each; page 4x slower, ${SCREEN.width} x ${SCREEN.height}`
  const common = { bound: 'most', how } as const
  return [
    { name: 'console-wall', measured: frames, limit: 50, unit: 'frames/s', bound: 'least', how },
    {
      ...common,
      name: 'console-wall-longest',
      measured: Math.max(0, ...long.map(({ ms: length }) => length)),
      limit: 50,
      unit: 'ms',
      how: `the longest of ${long.length} long tasks of the page in ${FRAMES_MS / 1000} s, at ${long.map(({ after }) => (after / 1000).toFixed(1)).join(', ')} s`,
    },
    {
      ...common,
      name: 'console-wall-controller',
      measured: share,
      unit: 'of a core',
      how: `${how}; ${pace.refused} requests refused`,
    },
    growth('wall', before, after, `Wall for ${minutesOf(ms)}`),
  ]
}

/** Frames a second that the thread of the meters draws. */
async function drawn(page: Page): Promise<number> {
  const [thread] = page.workers()
  if (!thread) throw new Error('the wall has no thread for its meters')
  return (await thread.evaluate(`new Promise((resolve) => {
    const from = performance.now()
    let frames = 0
    const count = () => {
      frames++
      const ms = performance.now() - from
      if (ms < ${FRAMES_MS}) requestAnimationFrame(count)
      else resolve(frames / (ms / 1000))
    }
    requestAnimationFrame(count)
  })`)) as number
}

/** Tasks of the page above 50 ms, and when they began. */
async function longTasks(page: Page): Promise<{ after: number; ms: number }[]> {
  return (await page.evaluate(`new Promise((resolve) => {
    const [from, tasks] = [performance.now(), []]
    new PerformanceObserver((list) => tasks.push(...list.getEntries()))
      .observe({ type: 'longtask' })
    setTimeout(() => resolve(tasks.map(({ duration, startTime }) => ({ after: startTime - from, ms: duration }))), ${FRAMES_MS})
  })`)) as { after: number; ms: number }[]
}
