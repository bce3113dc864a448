// The programs a recorder starts, and the sound that comes from them: every sample says when it was.
import { EventEmitter } from 'node:events'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Readable } from 'node:stream'
import { stamps } from './sound.ts'
import type { Life, Time } from './time.ts'

const require = createRequire(import.meta.url)

/** The sound card of a recorder. */
export interface Card {
  plugged: boolean
  /** Its driver gives nothing, and says nothing. */
  stuck: boolean
}

export interface Owner {
  card: Card
  /** Programs that die with their life. */
  programs: Set<Program>
}

const PERIOD_MS = 250
/** Of a pipe. */
const PIPE_BYTES = 65_536
const NOT_THERE = 'arecord: main:850: audio open error: No such file or directory\n'
/** ALSA gives up waiting for a device that gives nothing. */
const STUCK_MS = 10_000
const STUCK = 'arecord: pcm_read:2285: read error: Input/output error\n'
const PULLED = 'arecord: pcm_read:2285: read error: No such device\n'

/** A `ChildProcess`, as far as src/system/host/run.ts uses one. */
export class Program extends EventEmitter {
  readonly pid = undefined
  readonly stderr = new Readable({ read: () => {} })
  readonly stdin = null
  readonly stdout = new Readable({ highWaterMark: PIPE_BYTES, read: () => {} })
  readonly stdio = [null, this.stdout, this.stderr]
  protected over = false

  /** Ends; what it wrote is still read. */
  end(code: number | null, signal: NodeJS.Signals | null = null): void {
    if (this.over) return
    this.over = true
    this.stdout.push(null)
    this.stderr.push(null)
    this.emit('exit', code, signal)
    const gone = (stream: Readable) => stream.destroyed || stream.readableEnded
    const closed = () => gone(this.stdout) && gone(this.stderr) && this.emit('close', code, signal)
    for (const stream of [this.stdout, this.stderr]) stream.once('close', closed)
    closed()
  }

  kill(signal: NodeJS.Signals): boolean {
    this.end(null, signal)
    return true
  }
}

interface Shape {
  channels: number
  rate: number
}

/** arecord on the card: what was not read in time is lost, and it says how much. */
class Recording extends Program {
  readonly #card: Card
  readonly #shape: Shape
  readonly #time: Time
  /** The next sample it has to give, counted since the world began. */
  #next: number
  /** When it had no room any more. */
  #fullSince: number | undefined
  #stuckMs = 0

  constructor(time: Time, card: Card, shape: Shape) {
    super()
    this.#card = card
    this.#shape = shape
    this.#time = time
    this.#next = this.#due()
    const timer = setInterval(() => (this.over ? clearInterval(timer) : this.#tick()), PERIOD_MS)
  }

  #due(): number {
    return Math.floor((this.#time.now * this.#shape.rate) / 1000)
  }

  #tick(): void {
    const { plugged, stuck } = this.#card
    this.#stuckMs = stuck ? this.#stuckMs + PERIOD_MS : 0
    const due = this.#due()
    if (!plugged) this.#fail(PULLED)
    else if (this.#stuckMs >= STUCK_MS) this.#fail(STUCK)
    else if (stuck) this.#next = due
    else if (this.stdout.readableLength >= PIPE_BYTES) this.#fullSince ??= this.#next
    else this.#give(due)
  }

  #fail(words: string): void {
    this.stderr.push(words)
    this.end(1)
  }

  #give(due: number): void {
    const { channels, rate } = this.#shape
    if (this.#fullSince !== undefined) {
      const lost = due - this.#fullSince
      if (lost > rate / 2) {
        this.stderr.push(`overrun!!! (at least ${((lost / rate) * 1000).toFixed(3)} ms long)\n`)
        this.#next = due
      }
      this.#fullSince = undefined
    }
    if (due > this.#next) this.stdout.push(stamps(this.#next, due, channels))
    this.#next = due
  }

  override kill(signal: NodeJS.Signals): boolean {
    if (signal === 'SIGTERM' && !this.over) this.#time.plan(5, () => this.end(1))
    else this.end(null, signal)
    return true
  }
}

const after = (args: readonly string[], flag: string): string => args[args.indexOf(flag) + 1] ?? ''

function arecord(time: Time, card: Card, args: readonly string[]): Program {
  if (card.plugged)
    return new Recording(time, card, { channels: Number(after(args, '-c')), rate: Number(after(args, '-r')) })
  const program = new Program()
  time.plan(3, () => {
    program.stderr.push(NOT_THERE)
    program.end(1)
  })
  return program
}

/** Whatever else a recorder starts is not installed. */
function missing(time: Time, command: string): Program {
  const program = new Program()
  time.plan(1, () => program.emit('error', Object.assign(new Error(`spawn ${command} ENOENT`), { code: 'ENOENT' })))
  return program
}

/** For good: this process starts no programs any more. `ownerOf`: whose program it is. */
export function installPrograms(time: Time, ownerOf: (life: Life) => Owner | undefined): void {
  require('node:child_process').spawn = (command: string, args: readonly string[]) => {
    const owner = time.current && ownerOf(time.current)
    const program = owner && command === 'arecord' ? arecord(time, owner.card, args) : missing(time, command)
    owner?.programs.add(program)
    program.once('exit', () => owner?.programs.delete(program))
    return program
  }
  require('node:net').createServer = () => {
    const server = new EventEmitter()
    return Object.assign(server, {
      close: () => {},
      listen: (_name: string, listening: () => void) => void time.plan(0, listening),
      unref: () => server,
    })
  }
  syncBuiltinESMExports()
}
