// Three machines as network namespaces, and the lines between them: real packets, carried by router.py. Needs root.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { createInterface } from 'node:readline'

const ROUTER = path.join(import.meta.dirname, 'router.py')
// Debian's own, whatever else is installed here.
const PYTHON = '/usr/bin/python3'
/** What the namespaces are called: whose they are, and a number. */
const NAMED = /^roomtone-(\d+)-\d+-(agent|controller)$/

/** The storage is reached where the test itself runs. */
export type Machine = 'agent' | 'controller' | 'storage'

/** How bad a direction is; an empty one is as good as new. */
export interface Weather {
  delayMs?: number
  /** Chances of a packet, 0 to 1. */
  duplicate?: number
  loss?: number
  /** Bytes per second. */
  rate?: number
  reorder?: number
}

/** What became of the packets so far, in all directions. */
export interface Counts {
  carried: number
  /** There was no room for them before a slow line. */
  crowded: number
  duplicated: number
  lost: number
  reordered: number
}

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8', stdio: 'pipe' })

/** Why no lines can be laid here; false when they can. */
export function noLines(): string | false {
  if (process.getuid?.() !== 0) return 'only root can lay lines'
  const missing = [PYTHON, '/dev/net/tun'].filter((file) => !fs.existsSync(file))
  if (missing.length > 0) return `no lines without ${missing.join(', ')}`
  try {
    ip('netns')
    return false
  } catch (e) {
    return `no network namespaces: ${(e as Error).message}`
  }
}

/** Namespaces of tests that were killed: nobody else removes them. */
function sweep(): void {
  for (const name of ip('netns').split(/\s+/)) {
    const [, pid] = NAMED.exec(name) ?? []
    if (pid && !fs.existsSync(`/proc/${pid}`)) ip('netns', 'del', name)
  }
}

export class Lines {
  readonly #dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-lines-'))
  readonly #n: number
  readonly #router: ChildProcess
  #asked = 0
  readonly #answers = new Map<number, (counts: Counts) => void>()

  private constructor(n: number, seed: number) {
    this.#n = n
    const devices = (['agent', 'controller', 'storage'] as const).map((who) => `${this.#tun(who)}=${this.address(who)}`)
    this.#router = spawn(PYTHON, [ROUTER, String(seed), ...devices], { stdio: ['pipe', 'pipe', 'inherit'] })
  }

  static async lay(seed: number): Promise<Lines> {
    sweep()
    const lines = new Lines(plugIn(), seed)
    const said = createInterface({ input: lines.#router.stdout! })
    await once(said, 'line')
    said.on('line', (line) => {
      const { count, ...counts } = JSON.parse(line)
      lines.#answers.get(count)?.(counts)
      lines.#answers.delete(count)
    })
    lines.#connect()
    return lines
  }

  address = (who: Machine): string => `10.80.${this.#n}.${{ agent: 2, controller: 3, storage: 4 }[who]}`

  /** Where the test itself reaches the controller: nothing of the weather is there. */
  get aside(): string {
    return besideOf(this.#n)
  }

  /** Path of a program that is `program`, on that machine. */
  on(who: 'agent' | 'controller', program: string): string {
    const file = path.join(this.#dir, who)
    const enter = `nsenter --net=/run/netns/${namespaceOf(this.#n, who)}`
    fs.writeFileSync(file, `#!/bin/sh\nexec ${enter} '${program}' "$@"\n`, { mode: 0o755 })
    return file
  }

  /** From now on; what is under way goes on as it was. */
  set(from: Machine, to: Machine, weather: Weather): void {
    const order = { ...weather, from: this.address(from), to: this.address(to) }
    this.#router.stdin!.write(`${JSON.stringify(order)}\n`)
  }

  counts(): Promise<Counts> {
    const count = this.#asked++
    const answer = new Promise<Counts>((resolve) => this.#answers.set(count, resolve))
    this.#router.stdin!.write(`${JSON.stringify({ count })}\n`)
    return answer
  }

  async close(): Promise<void> {
    const ended = once(this.#router, 'close')
    this.#router.stdin!.end()
    await ended
    for (const who of ['agent', 'controller'] as const) ip('netns', 'del', namespaceOf(this.#n, who))
    fs.rmSync(this.#dir, { recursive: true })
  }

  #tun = (who: Machine): string => `rtl${this.#n}${who[0]}`

  #connect(): void {
    for (const who of ['agent', 'controller'] as const) {
      const network = namespaceOf(this.#n, who)
      ip('link', 'set', this.#tun(who), 'netns', network)
      this.#reach(who, ['-n', network])
      ip('-n', network, 'link', 'set', 'lo', 'up')
    }
    this.#reach('storage', [])
  }

  /** Everybody else of the three is behind the one device. */
  #reach(who: Machine, at: string[]): void {
    const device = this.#tun(who)
    ip(...at, 'address', 'add', `${this.address(who)}/32`, 'dev', device)
    ip(...at, 'link', 'set', device, 'up')
    ip(...at, 'route', 'add', `10.80.${this.#n}.0/24`, 'dev', device)
  }
}

const namespaceOf = (n: number, who: Machine): string => `roomtone-${process.pid}-${n}-${who}`
const besideOf = (n: number): string => `10.81.${n}.2`

/** Takes the first number nobody has: to add a device that exists fails, so two cannot take the same. */
function plugIn(): number {
  for (let n = 1; n < 255; n++) {
    try {
      ip('link', 'add', `rtl${n}`, 'type', 'veth', 'peer', 'name', `rtl${n}p`)
    } catch (e) {
      if (String((e as { stderr?: unknown }).stderr).includes('File exists')) continue
      throw e
    }
    for (const who of ['agent', 'controller'] as const) ip('netns', 'add', namespaceOf(n, who))
    const network = namespaceOf(n, 'controller')
    ip('link', 'set', `rtl${n}p`, 'netns', network)
    ip('address', 'add', `10.81.${n}.1/24`, 'dev', `rtl${n}`)
    ip('link', 'set', `rtl${n}`, 'up')
    ip('-n', network, 'address', 'add', `${besideOf(n)}/24`, 'dev', `rtl${n}p`)
    ip('-n', network, 'link', 'set', `rtl${n}p`, 'up')
    return n
  }
  throw new Error('254 sets of lines are laid at once.')
}
