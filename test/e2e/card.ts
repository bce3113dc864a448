// Sound cards without hardware: the channels of a JACK graph, which arecord opens through ALSA's plugin for JACK.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as net from 'node:net'
import * as path from 'node:path'
import { wavHeader } from '../../src/agent/audio/wav.rules.ts'
import { until } from '../kit/whole.ts'
import { punctual } from './processes.ts'
import { PEAK, RATE, turns } from './signal.ts'

/** ALSA's names of the cards, and how many channels each has. */
export const CARDS = { Desk: 8, Stage: 32 } as const
export type Card = keyof typeof CARDS
const WIDEST = 32
/** Frames of one cycle of the graph: the most the player can serve without a break. */
export const PERIOD = 1024
const PLUGIN = '/usr/lib/*/alsa-lib/libasound_module_pcm_jack.so'

const onPath = (program: string): boolean =>
  (process.env.PATH ?? '').split(':').some((dir) => fs.existsSync(path.join(dir, program)))

/** Which packages the cards are made of and are not there; false when there is nothing to miss. */
export function missingPackages(): string | false {
  const needed: [string, boolean][] = [
    ['alsa-utils', onPath('arecord')],
    ['jackd2', onPath('jackd') && onPath('jack_lsp')],
    ['sndfile-tools', onPath('sndfile-jackplay')],
    ['libasound2-plugins', fs.globSync(PLUGIN).length > 0],
  ]
  const missing = needed.filter(([, there]) => !there).map(([name]) => name)
  return missing.length > 0 && `no sound cards without ${missing.join(', ')}: run scripts/setup --tests`
}

/** One second of every channel's tone, which the player repeats without end. 32 bits: the graph's floats keep 24. */
function signalFile(): Buffer {
  const data = Buffer.alloc(RATE * WIDEST * 4)
  for (let frame = 0; frame < RATE; frame++)
    for (let channel = 1; channel <= WIDEST; channel++) {
      const value = PEAK * Math.sin(2 * Math.PI * turns(channel, frame))
      data.writeInt32LE(Math.round(value * 0x7fffffff), (frame * WIDEST + channel - 1) * 4)
    }
  return Buffer.concat([wavHeader({ channels: WIDEST, dataBytes: data.length, format: 'S32_LE', rate: RATE }), data])
}

/** `hw:CARD=Desk,DEV=0` opens the first ports of the player: the whole of a card, or as many of it as are asked for. */
function alsaConfiguration(): string {
  const ports = (count: number) => Array.from({ length: count }, (_, i) => `${i} jackplay:out_${i + 1}`).join(' ')
  const card = ([name, count]: [string, number]) =>
    `pcm.room_${name} { type plug slave.pcm { type jack capture_ports { ${ports(count)} } } }`
  const byName = (pcm: string) => `pcm.!${pcm} {
  @args [ CARD DEV SUBDEV ]
  @args.CARD { type string default "Desk" }
  @args.DEV { type integer default 0 }
  @args.SUBDEV { type integer default -1 }
  type empty
  slave.pcm { @func concat strings [ "room_" $CARD ] }
}`
  return `${[...Object.entries(CARDS).map(card), byName('hw'), byName('plughw')].join('\n')}\n`
}

/** What the kernel would say of the cards in /proc/asound. */
export function layProc(root: string, cards: readonly Card[]): void {
  fs.rmSync(root, { force: true, recursive: true })
  fs.mkdirSync(root)
  const lines = cards.map((card, n) => `0${n}-00: ${card} : ${card} : capture 1\n`)
  fs.writeFileSync(path.join(root, 'pcm'), lines.join(''))
  for (const [n, card] of cards.entries()) {
    const dir = path.join(root, `card${n}`)
    fs.mkdirSync(dir)
    fs.writeFileSync(path.join(dir, 'id'), `${card}\n`)
    const mode = `    Format: S32_LE\n    Channels: ${CARDS[card]}\n    Rates: ${RATE}\n`
    fs.writeFileSync(path.join(dir, 'stream0'), `${card}\n\nCapture:\n  Status: Stop\n  Interface 1\n${mode}`)
  }
}

/** JACK knows eight servers of a machine by their names; that of a dead one is free again for its own name only. */
const SERVERS = Array.from({ length: 6 }, (_, i) => `roomtone-${i + 1}`)

/** The cards of one test. Each set is a JACK server of its own name: tests beside it do not hear it. */
export class Cards {
  /** For whoever opens the cards. */
  readonly env: Record<string, string>
  readonly #dir: string
  readonly #first = punctual()
  #name: net.Server | undefined
  #player: ChildProcess | undefined
  #server: ChildProcess | undefined

  private constructor(dir: string) {
    this.#dir = dir
    this.env = {
      ALSA_CONFIG_PATH: path.join(dir, 'asound.conf'),
      JACK_NO_START_SERVER: '1',
      SVC_ALSA_PROC_ROOT: path.join(dir, 'asound'),
    }
  }

  /** Lays them out in `dir`, plugged in and sounding. */
  static async lay(dir: string): Promise<Cards> {
    fs.mkdirSync(dir, { recursive: true })
    const cards = new Cards(dir)
    fs.writeFileSync(path.join(dir, 'signal.wav'), signalFile())
    fs.writeFileSync(path.join(dir, 'asound.conf'), alsaConfiguration())
    layProc(path.join(dir, 'asound'), ['Desk', 'Stage'])
    for (const name of SERVERS) if (await cards.#take(name)) return cards
    throw new Error(`no JACK server starts: ${fs.readFileSync(path.join(dir, 'jackd.log'), 'utf8')}`)
  }

  /** The cards are gone in the middle of whatever reads them, as by a pulled plug. */
  async unplug(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async plugIn(): Promise<void> {
    assert.ok(await this.#serve(this.env.JACK_DEFAULT_SERVER!), 'the JACK server is back')
  }

  async close(): Promise<void> {
    await this.#end('SIGTERM')
    this.#name?.close()
  }

  /** The name is kept while the cards are unplugged, too: a test beside this one must not take it meanwhile. */
  async #take(name: string): Promise<boolean> {
    const kept = net.createServer().unref()
    const free = await new Promise<boolean>((resolve) => {
      kept.once('error', () => resolve(false)).listen(`\0roomtone-cards/${name}`, () => resolve(true))
    })
    if (!free) return false
    if (!(await this.#serve(name))) {
      kept.close()
      return false
    }
    this.#name = kept
    return true
  }

  /** The server, and what plays on it. False when the name is taken. */
  async #serve(name: string): Promise<boolean> {
    this.env.JACK_DEFAULT_SERVER = name
    const clock = ['-d', 'dummy', '-r', String(RATE), '-p', String(PERIOD), '-C', '0', '-P', '0']
    const server = this.#start('jackd', ['-n', name, '-S', '-r', '--no-realtime', ...clock])
    this.#server = server
    const said = () => fs.readFileSync(path.join(this.#dir, 'jackd.log'), 'utf8')
    const started = () => said().includes('JACK server starting')
    // Its own word: another server of that name would answer just as well.
    await until('the JACK server', () => server.exitCode !== null || (started() && this.#ports() !== undefined))
    if (server.exitCode !== null) return false
    this.#player = this.#start('sndfile-jackplay', ['-l', '0', path.join(this.#dir, 'signal.wav')])
    await until('the player', () => this.#ports()?.includes(`jackplay:out_${WIDEST}`))
    return true
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    for (const child of [this.#player, this.#server]) {
      if (!child || child.exitCode !== null || child.signalCode !== null) continue
      const closed = once(child, 'close')
      child.kill(signal)
      await closed
    }
  }

  #start(program: string, args: string[]): ChildProcess {
    const [command, ...rest] = [...this.#first, program, ...args]
    const log = fs.openSync(path.join(this.#dir, `${program}.log`), 'w')
    const env = { ...process.env, ...this.env }
    // The player never stops telling where it is.
    const child = spawn(command!, rest, { env, stdio: ['ignore', program === 'jackd' ? log : 'ignore', log] })
    fs.closeSync(log)
    return child
  }

  /** Undefined while nobody answers. */
  #ports(): string | undefined {
    try {
      return execFileSync('jack_lsp', { encoding: 'utf8', env: { ...process.env, ...this.env }, stdio: 'pipe' })
    } catch {
      return undefined
    }
  }
}
