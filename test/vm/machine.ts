// A box to install on: Debian with its own systemd, disk and network, booted beside everything else on this machine.
// It hears and reaches nobody but this host, so "without internet" is true. Needs root; see `noMachine`.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { type RunOptions, type RunResult, run } from '../../src/system/host/run.ts'
import { until } from '../kit/whole.ts'

const HERE = import.meta.dirname
const CACHE = path.resolve(HERE, '..', '..', '.cache', 'field')
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const PROGRAMS = ['debootstrap', 'systemd-nspawn', 'nsenter', 'unshare', 'setpriv', 'ip', 'flock']
const BOOT_SECONDS = 120

/** Why no machine can be booted here; false when one can. */
export function noMachine(): string | false {
  if (process.getuid?.() !== 0) return 'only root can boot a machine'
  const dirs = PATH.split(':')
  const missing = PROGRAMS.filter((program) => !dirs.some((dir) => fs.existsSync(path.join(dir, program))))
  if (missing.length > 0) return `no machine without ${missing.join(', ')}: run scripts/setup --tests`
  const probe = 'umount -R /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup'
  try {
    execFileSync('unshare', ['--mount', 'sh', '-c', probe], { stdio: 'pipe' })
    return false
  } catch (e) {
    return `no control groups for a machine: ${(e as Error).message}`
  }
}

/** The file system all machines begin with; made on first use, under a lock for the files that run beside this one. */
async function baseSystem(): Promise<string> {
  const script = path.join(HERE, 'base.sh')
  const digest = createHash('sha256').update(fs.readFileSync(script)).digest('hex').slice(0, 16)
  const base = path.join(CACHE, `base-${digest}`)
  if (fs.existsSync(base)) return base
  fs.mkdirSync(CACHE, { recursive: true })
  // What is mounted meanwhile must not be left for an "rm -r" to walk into, however this ends.
  const alone = ['unshare', '--mount', '--propagation', 'private', 'sh', script, base]
  const made = await run('flock', [path.join(CACHE, 'lock'), ...alone], { timeoutMs: 600_000 })
  assert.equal(made.code, 0, `the base system was not made: ${made.stdout.slice(-2000)}${made.stderr}`)
  return base
}

const ip = (...args: string[]): void => void execFileSync('ip', args, { stdio: 'pipe' })

/** A cable between this host and a network namespace of that name; nothing else is there. */
function layCable(network: string): { address: string; hostAddress: string } {
  ip('netns', 'add', network)
  const n = plugIn(network)
  const [hostAddress, address] = [`10.77.${n}.1`, `10.77.${n}.2`]
  ip('address', 'add', `${hostAddress}/24`, 'dev', `rt${n}`)
  ip('link', 'set', `rt${n}`, 'up')
  ip('-n', network, 'address', 'add', `${address}/24`, 'dev', 'host0')
  for (const device of ['host0', 'lo']) ip('-n', network, 'link', 'set', device, 'up')
  return { address, hostAddress }
}

/** Takes the first number nobody has: to add a device that exists fails, so two cannot take the same. */
function plugIn(network: string): number {
  for (let n = 1; n < 255; n++) {
    try {
      ip('link', 'add', `rt${n}`, 'type', 'veth', 'peer', 'name', 'host0', 'netns', network)
      return n
    } catch (e) {
      if (!String((e as { stderr?: unknown }).stderr).includes('File exists')) throw e
    }
  }
  throw new Error('254 machines are up at once.')
}

// A machine is known by the directory it lives in: made before everything else of it and removed last, with whose it is
// in its name. Its network and its control group have the same name.
const DIRECTORY = /^roomtone-field-[\w-]+-(\d+)-(\d+)-[A-Za-z0-9]{6}$/

const newDirectory = (name: string): string =>
  fs.mkdtempSync(path.join(os.tmpdir(), `roomtone-field-${name}-${process.pid}-${beganAt(process.pid)}-`))

/** When a process began, in ticks since this host did: a number that comes again is another process. */
function beganAt(pid: number): string | undefined {
  try {
    return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19]
  } catch {
    // No such process.
    return undefined
  }
}

/** Removes what is left of machines whose test was killed: they ended with it, and could not clean up. */
function sweep(): void {
  for (const name of fs.readdirSync(os.tmpdir())) {
    const [, pid, began] = DIRECTORY.exec(name) ?? []
    if (pid !== undefined && beganAt(Number(pid)) !== began) raze(path.join(os.tmpdir(), name))
  }
}

/** Nothing is left of a machine that ended. Two may do it at once. */
function raze(dir: string): void {
  const script = path.join(HERE, 'raze.sh')
  execFileSync('unshare', ['--mount', '--propagation', 'private', 'sh', script, path.basename(dir)], { stdio: 'pipe' })
  fs.rmSync(dir, { force: true, maxRetries: 5, recursive: true })
}

export interface MachineRun extends Pick<RunOptions, 'input' | 'signal' | 'timeoutMs'> {
  /** Default: root. */
  user?: string
}

/** A booted machine. Close it with `stop`, also after a failure. */
export class Machine {
  /** This host on the cable: where a test's controller listens. */
  readonly hostAddress: string
  /** The machine on the cable. */
  readonly address: string
  readonly name: string
  readonly #base: string
  readonly #dir: string
  #console = ''
  #nspawn: ChildProcess | undefined
  #pid = 0

  private constructor(base: string, dir: string, cable: { address: string; hostAddress: string }) {
    this.name = path.basename(dir)
    this.address = cable.address
    this.hostAddress = cable.hostAddress
    this.#base = base
    this.#dir = dir
  }

  static async boot({ name }: { name: string }): Promise<Machine> {
    const base = await baseSystem()
    sweep()
    const machine = Machine.#prepare(base, newDirectory(name))
    process.once('exit', machine.#atExit)
    try {
      await machine.#up()
      return machine
    } catch (e) {
      await machine.stop()
      throw e
    }
  }

  static #prepare(base: string, dir: string): Machine {
    try {
      return new Machine(base, dir, layCable(path.basename(dir)))
    } catch (e) {
      raze(dir)
      throw e
    }
  }

  /**
   * Its file system as this host sees it, while it is up. An absolute link in there leads out of it: `read` and `write`
   * go through the machine instead.
   */
  get root(): string {
    return `/proc/${this.#pid}/root`
  }

  /** Runs a shell command in the machine; resolves with how it ended, whatever the exit code. Default limit: 60 s. */
  async run(command: string, { user, ...options }: MachineRun = {}): Promise<RunResult> {
    const clean = ['env', '-i', `PATH=${PATH}`, 'HOME=/root', 'LANG=C.UTF-8', 'TERM=dumb']
    const as = user === undefined ? [] : ['runuser', '-u', user, '--']
    const enter = ['-t', String(this.#pid), '-a', ...clean, ...as, 'sh', '-c', command]
    return await run('nsenter', enter, { timeoutMs: 60_000, maxOutput: 2 ** 22, ...options })
  }

  /** What the command printed. Throws with everything it said when it fails. */
  async must(command: string, options: MachineRun = {}): Promise<string> {
    const { code, signal, stderr, stdout } = await this.run(command, options)
    if (code === 0) return stdout
    throw new Error(`${this.name}: ${command}\nended with ${code ?? signal}\n${stdout}${stderr}`)
  }

  /** Makes the directories on the way. `mode`: octal digits. */
  async write(file: string, content: string | Uint8Array, mode = '0644'): Promise<void> {
    const real = await this.must(`mkdir -p "$(dirname '${file}')" && realpath -m '${file}'`)
    const at = path.join(this.root, real.trim())
    fs.writeFileSync(at, content)
    fs.chmodSync(at, Number.parseInt(mode, 8))
  }

  /** Copies a file of this host; it belongs to root there. `mode`: octal digits. */
  async bring(from: string, to: string, mode = '0755'): Promise<void> {
    await this.write(to, '', mode)
    const real = await this.must(`realpath '${to}'`)
    fs.copyFileSync(from, path.join(this.root, real.trim()))
  }

  async read(file: string): Promise<string> {
    return await this.must(`cat '${file}'`)
  }

  /** Also true for a link that leads nowhere. */
  async exists(file: string): Promise<boolean> {
    const { code } = await this.run(`[ -e '${file}' ] || [ -L '${file}' ]`)
    return code === 0
  }

  /** What the journal has of a unit, newest last, or of everything. */
  async journal(unit?: string): Promise<string> {
    return await this.must(`journalctl --no-pager -o short-monotonic ${unit === undefined ? '' : `-u '${unit}'`}`)
  }

  /** Asks until the command succeeds; fails with its last words. */
  async until(what: string, command: string, seconds = 60): Promise<string> {
    let last = ''
    const answer = await until(
      what,
      async () => {
        const { code, stderr, stdout } = await this.run(command)
        last = `${stdout}${stderr}`
        return code === 0 ? { stdout } : undefined
      },
      seconds,
    ).catch((e: Error) => {
      throw new Error(`${e.message}; last words: ${last}`)
    })
    return answer.stdout
  }

  /** Orderly, and up again. */
  async reboot(): Promise<void> {
    const ended = this.#ended()
    await this.run('systemctl reboot --no-block')
    await ended
    await this.#up()
  }

  /** Every process is dead at once. What was written stays, also what was not synced; up again. */
  async powerCut(): Promise<void> {
    await this.powerOff()
    await this.powerOn()
  }

  /** The plug is pulled: every process is dead at once, and it stays off. */
  async powerOff(): Promise<void> {
    const ended = this.#ended()
    // systemd dies a moment before the others, and nobody may live to see that.
    await this.run('kill -STOP -1')
    process.kill(this.#pid, 'SIGKILL')
    await ended
  }

  /** Up again, with what was written. */
  powerOn = (): Promise<void> => this.#up()

  /** For ever; nothing of it is left. */
  async stop(): Promise<void> {
    const ended = this.#ended()
    this.#kill()
    await ended
    process.off('exit', this.#atExit)
    raze(this.#dir)
  }

  async #up(): Promise<void> {
    const script = path.join(HERE, 'boot.sh')
    // A test that is killed takes its machine along: a namespace of processes ends with its first one.
    const mount = ['--pdeathsig', 'KILL', 'unshare', '--mount', '--propagation', 'private', '--pid', '--mount-proc']
    const args = [...mount, '--fork', '--kill-child', 'sh', script, this.#base, this.#dir]
    const nspawn = spawn('setpriv', args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#nspawn = nspawn
    for (const stream of [nspawn.stdout, nspawn.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#console = (this.#console + text).slice(-20_000)
      })
    await until(`${this.name} to boot`, () => this.#isUp(nspawn), BOOT_SECONDS).catch((e: Error) => {
      throw new Error(`${e.message}\n${this.#console}`)
    })
  }

  async #isUp(nspawn: ChildProcess): Promise<boolean> {
    assert.equal(nspawn.exitCode ?? nspawn.signalCode, null, `${this.name} ended:\n${this.#console}`)
    this.#pid = systemdOf(nspawn.pid!)
    if (this.#pid === 0) return false
    const { stdout } = await this.run('systemctl is-system-running --wait')
    return ['running', 'degraded'].includes(stdout.trim())
  }

  async #ended(): Promise<void> {
    const nspawn = this.#nspawn
    if (!nspawn || (nspawn.exitCode ?? nspawn.signalCode) !== null) return
    await once(nspawn, 'close')
  }

  #kill(): void {
    // Its systemd is the first process of a namespace: with it every other one there dies.
    const pid = this.#nspawn?.pid ? systemdOf(this.#nspawn.pid) : 0
    if (pid !== 0) process.kill(pid, 'SIGKILL')
    else this.#nspawn?.kill('SIGKILL')
  }

  /** For a test process that ends without `stop`. */
  readonly #atExit = (): void => {
    this.#kill()
    raze(this.#dir)
  }
}

/** Process id of the first systemd below a process; 0 when there is none. */
function systemdOf(pid: number): number {
  try {
    if (fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'systemd') return pid
    const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? []
    return children.map((child) => systemdOf(Number(child))).find((found) => found !== 0) ?? 0
  } catch {
    // One of them ended in between.
    return 0
  }
}

/** The shape that most tests need. */
export const bootMachine = Machine.boot

// Run as a program, it makes the file system that would otherwise be made when the first machine is booted.
if (import.meta.main && !noMachine()) await baseSystem()
