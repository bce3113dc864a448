// A computer of the simulated site: one program on it, which can be stopped as rudely as the world has it.
import { Disk, real } from './disk.ts'
import type { Tenant } from './files.ts'
import type { Random } from './random.ts'
import type { Machine, Time } from './time.ts'

export interface Run extends Tenant {
  box: Box
}

/** `start` and `stopped` are what the program is. */
export abstract class Box {
  readonly disk: Disk
  readonly machine: Machine
  readonly time: Time
  life: Run | undefined

  constructor(time: Time, name: string, folder: string, capacity: number, random: Random) {
    this.time = time
    this.machine = { boot: 1, bootedAt: time.now, clockAheadMs: 0, name }
    this.disk = new Disk(folder, capacity, random, () => time.now)
  }

  get running(): boolean {
    return this.life !== undefined
  }

  protected abstract begin(life: Run): Promise<void>
  /** What dies with the program beside its code. */
  protected abstract ended(life: Run, powerless: boolean): void

  /** Starts the program; what it throws at its start is a crash. */
  start(): void {
    const life: Run = {
      box: this,
      dead: false,
      disk: this.disk,
      machine: this.machine,
      name: this.machine.name,
      open: new Set(),
    }
    this.life = life
    this.time.plan(0, () => void this.begin(life).catch((e) => this.time.onCrash(life, e)), life)
  }

  /** kill -9: its files stay as they are. */
  kill(powerless = false): void {
    if (!this.life) return
    this.life.dead = true
    this.ended(this.life, powerless)
    for (const fd of this.life.open) real.closeSync(fd)
    this.life = undefined
  }

  powerCut(): void {
    this.kill(true)
    this.disk.powerCut()
    this.machine.boot++
    this.machine.bootedAt = this.time.now
  }
}
