// A virtual network: every request of a recorder crosses a line that may be slow, cut, or give twice what it was given once.
import { EventEmitter } from 'node:events'
import type * as http from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Readable, Writable } from 'node:stream'
import { ObjectStore, StoreAsking } from './store.ts'
import type { Life, Time } from './time.ts'

const require = createRequire(import.meta.url)

/** The line between a machine and the controller. Chances are per request. */
export interface Line {
  /** Ms on the way, least and most. */
  delay: [least: number, most: number]
  /** Nothing passes, and nobody is told. */
  cut: boolean
  /** A whole request is given to the controller a second time, as a box in between might repeat it. */
  duplicates: number
  /** The connection is reset before the request came through ... */
  losesAsked: number
  /** ... or when it was answered. */
  losesAnswers: number
  /** Bytes a second. */
  rate: number
}

export const goodLine = (): Line => ({
  cut: false,
  delay: [0.2, 3],
  duplicates: 0,
  losesAnswers: 0,
  losesAsked: 0,
  rate: 12e6,
})

/** A controller that listens. */
export interface Listening {
  fetch(request: Request, env: object): Response | Promise<Response>
  life: Life
}

const ACKNOWLEDGES = /\/(cache-file|health-events)$/
/** Ten probes, a second apart, after a second of silence: what Node's agents ask of the kernel. */
const KEEP_ALIVE_MS = 11_000

export class Network {
  listening: Listening | undefined
  readonly lines = new Map<string, Line>()
  store = new ObjectStore()
  /** Told of every answer that leaves the controller, whether or not it arrives. */
  onAnswered: (asked: Asked, status: number, body: Buffer) => void = () => {}
  /** Called once, when the controller has acknowledged something. */
  readonly onceAcknowledged: (() => void)[] = []
  requests = 0
  readonly #pending = new Set<Asking>()
  readonly time: Time

  constructor(time: Time) {
    this.time = time
  }

  /** Another world: everybody is gone. */
  begin(): void {
    this.listening = undefined
    this.store = new ObjectStore()
    this.lines.clear()
    this.requests = 0
    this.#pending.clear()
    this.onceAcknowledged.length = 0
    this.onAnswered = () => {}
  }

  began(asking: Asking): void {
    this.requests++
    this.#pending.add(asking)
  }

  ended(asking: Asking): void {
    this.#pending.delete(asking)
  }

  /** The kernel of a killed program tells its peers; without power, they find out by asking whether it is still there. */
  gone(life: Life, powerless: boolean): void {
    this.listening = undefined
    for (const asking of this.#pending) asking.left(life, powerless ? KEEP_ALIVE_MS : 0)
  }

  lineOf(machine: string): Line {
    const line = this.lines.get(machine) ?? goodLine()
    this.lines.set(machine, line)
    return line
  }
}

export interface Asked {
  headers: http.IncomingHttpHeaders
  method: string
  url: URL
}

export const broken = (code: string): Error => Object.assign(new Error(code), { code })

/** The controller's side of one request. */
class Arrival extends Readable {
  readonly headers: http.IncomingHttpHeaders
  readonly socket = { remoteAddress: '10.0.0.1' }
  readonly outgoing = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false })

  readonly life: Life

  constructor(life: Life, headers: http.IncomingHttpHeaders) {
    super({ read: () => {} })
    this.headers = headers
    this.life = life
    this.on('error', () => {})
  }

  /** The client is gone, or has its answer. */
  over(delivered: boolean): void {
    if (this.outgoing.destroyed) return
    this.outgoing.writableFinished = delivered
    this.outgoing.destroyed = true
    if (!this.readableEnded && !delivered) this.destroy(broken('ECONNRESET'))
    this.outgoing.emit('close')
  }
}

/** What the recorder gets: a `http.IncomingMessage`, as far as the client looks. */
export class Answered extends Readable {
  complete = false
  readonly headers: http.IncomingHttpHeaders
  readonly statusCode: number

  constructor(status: number, headers: http.IncomingHttpHeaders, body: Buffer) {
    super({ read: () => {} })
    this.statusCode = status
    this.headers = headers
    this.push(body)
    this.complete = true
    this.push(null)
  }
}

type Options = Pick<http.RequestOptions, 'headers' | 'method'>

/** A `http.ClientRequest`, as far as src/kernel/http.ts uses one. */
class Asking extends Writable {
  readonly reusedSocket = false
  readonly #arrived: Arrival[] = []
  readonly #life: Life
  readonly #line: Line
  readonly #network: Network
  readonly #options: Options
  readonly #sent: Buffer[] = []
  readonly #url: URL
  #silence: NodeJS.Timeout | undefined
  #over = false

  constructor(network: Network, life: Life, url: URL, options: Options) {
    super({ autoDestroy: false, highWaterMark: 65_536 })
    network.began(this)
    this.#network = network
    this.#life = life
    this.#line = network.lineOf(life.machine.name)
    this.#url = url
    this.#options = options
    const socket = Object.assign(new EventEmitter(), { connecting: true })
    process.nextTick(() => this.emit('socket', socket))
    this.#after(this.#delay(), () => this.#connect(socket))
  }

  #delay(): number {
    const [least, most] = this.#line.delay
    return this.#network.time.random.skewed(least, most)
  }

  /** Something of this request in so many ms, for the recorder's life. */
  #after(ms: number, run: () => void): void {
    this.#network.time.plan(ms, () => this.#over || run(), this.#life)
  }

  /** The controller it waits for is no more. */
  left(life: Life, ms: number): void {
    if (this.#arrived.some((arrival) => arrival.life === life))
      this.#after(this.#delay() + ms, () => this.#fail('ECONNRESET'))
  }

  #connect(socket: EventEmitter & { connecting: boolean }): void {
    // Nobody answers: the client's own patience ends it.
    if (this.#line.cut) return
    const { listening, time } = this.#network
    if (!listening) {
      this.#fail('ECONNREFUSED')
      return
    }
    socket.connecting = false
    socket.emit('connect')
    if (time.random.chance(this.#line.losesAsked)) this.#fail('ECONNRESET')
    else this.#give(listening)
  }

  #fail(code: string): void {
    this.destroy(broken(code))
  }

  /** The request comes in at the controller; the body follows as it is written. */
  #give(to: Listening): void {
    const headers = Object.fromEntries(
      Object.entries(this.#options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]),
    )
    const arrival = new Arrival(to.life, headers)
    for (const piece of this.#sent) this.#push(arrival, piece)
    if (this.writableFinished) this.#push(arrival, null)
    this.#arrived.push(arrival)
    this.#network.time.plan(0, () => this.#handle(to, arrival), to.life)
  }

  #handle(to: Listening, arrival: Arrival): void {
    const { method = 'GET' } = this.#options
    const request = { headers: new Headers(arrival.headers as Record<string, string>), method, url: this.#url.href }
    void Promise.resolve(to.fetch(request as Request, { incoming: arrival, outgoing: arrival.outgoing })).then(
      async (response) => {
        const body = Buffer.from(await response.arrayBuffer())
        const headers = { date: new Date().toUTCString(), ...Object.fromEntries(response.headers) }
        if (method !== 'GET' && ACKNOWLEDGES.test(this.#url.pathname) && response.ok)
          for (const tell of this.#network.onceAcknowledged.splice(0)) tell()
        this.#network.onAnswered({ headers: arrival.headers, method, url: this.#url }, response.status, body)
        if (arrival === this.#arrived[0]) this.#answer(to.life, arrival, response.status, headers, body)
      },
    )
  }

  /** Called by the controller's life. An answer waits where the line is cut, until somebody gives up. */
  #answer(by: Life, arrival: Arrival, status: number, headers: http.IncomingHttpHeaders, body: Buffer): void {
    const { random } = this.#network.time
    if (this.#line.cut) {
      const again = () => this.#answer(by, arrival, status, headers, body)
      this.#network.time.plan(1000, () => this.#over || again(), this.#life)
      return
    }
    const lost = random.chance(this.#line.losesAnswers)
    if (!lost) this.#network.time.plan(0, () => arrival.over(true), by)
    this.#after(this.#delay() + (body.length / this.#line.rate) * 1000, () => {
      if (lost) return this.#fail('ECONNRESET')
      clearTimeout(this.#silence)
      this.#repeat()
      this.#network.ended(this)
      this.emit('response', new Answered(status, headers, body))
    })
  }

  #repeat(): void {
    const { listening, time } = this.#network
    const whole = this.writableFinished && this.#sent.length <= 1 && this.#arrived.length === 1
    if (whole && listening && time.random.chance(this.#line.duplicates)) this.#give(listening)
  }

  override _write(piece: Buffer | string, encoding: BufferEncoding, done: (e?: Error | null) => void): void {
    const bytes = typeof piece === 'string' ? Buffer.from(piece, encoding) : piece
    this.#pass(bytes, (bytes.length / this.#line.rate) * 1000, done)
  }

  /** What the controller reads, it reads in a life of its own. */
  #push(arrival: Arrival | undefined, piece: Buffer | null): void {
    if (arrival) this.#network.time.plan(0, () => arrival.destroyed || arrival.push(piece), arrival.life)
  }

  /** Waits as long as the line is cut: a window that is full. */
  #pass(bytes: Buffer, ms: number, done: () => void): void {
    this.#after(ms, () => {
      if (this.#line.cut) return this.#pass(bytes, 500, done)
      // What the socket took before the connection was there goes with the request; later pieces follow it.
      if (this.#arrived.length === 0) this.#sent.push(bytes)
      else this.#push(this.#arrived[0], bytes)
      this.#silence?.refresh()
      done()
    })
  }

  override _final(done: (e?: Error | null) => void): void {
    process.nextTick(() => this.#push(this.#arrived[0], null))
    done()
  }

  override _destroy(e: Error | null, done: (e?: Error | null) => void): void {
    this.#over = true
    this.#network.ended(this)
    clearTimeout(this.#silence)
    for (const arrival of this.#arrived) this.#network.time.plan(this.#delay(), () => arrival.over(false), arrival.life)
    done(e)
  }

  setTimeout(ms: number, late: () => void): this {
    this.#silence = setTimeout(late, ms)
    return this
  }
}

/** For good: this process reaches nobody else any more. */
export function installNetwork(network: Network): void {
  const client = require('node:http')
  client.request = (to: URL | http.RequestOptions, how: Options | ((answered: Answered) => void)) => {
    const life = network.time.current
    if (!life) throw new Error('a request of nobody')
    if (to instanceof URL) return new Asking(network, life, to, how as Options)
    return new StoreAsking(network, life, to, how as (answered: Answered) => void)
  }
  syncBuiltinESMExports()
}
