// A recorder of the simulated site: the real agent, put together as src/agent/agent.ts does, on a virtual machine.
import * as path from 'node:path'
import { readConfig } from '../../src/agent/config.ts'
import { Daemon } from '../../src/agent/daemon.ts'
import { collectInventory } from '../../src/agent/inventory/inventory.ts'
import type { Hold } from '../../src/agent/maintenance.ts'
import { assemble } from '../../src/agent/parts.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { Log } from '../../src/kernel/log.ts'
import { version } from '../../src/kernel/version.ts'
import { Box, type Run } from './box.ts'
import { real } from './disk.ts'
import type { Card, Owner, Program } from './programs.ts'

/** Nobody maintains the machines here: asked four times a second, it would be most of what a day costs. */
const neverHeld: Hold = {
  answer: async () => {},
  asked: () => undefined,
  onAsked: () => () => {},
  start: () => {},
  stop: async () => {},
}

const PCM = '00-00: USB Audio : USB Audio : capture 1\n'
const STREAM = (rate: number) =>
  `Sim at usb-1, full speed : USB Audio\n\nCapture:\n  Status: Stop\n  Interface 2\n    Altset 1\n    Format: S16_LE\n    Channels: 1\n    Rates: ${rate}\n`

export interface Enrolled {
  id: string
  token: string
}

export class RecorderBox extends Box implements Owner {
  readonly card: Card = { plugged: true, stuck: false }
  readonly programs = new Set<Program>()
  readonly node: Enrolled
  readonly #env: Record<string, string>
  readonly #log: (level: string, message: string, fields?: object) => void

  constructor(
    parts: ConstructorParameters<typeof Box>,
    given: {
      env: Record<string, string>
      log: (level: string, message: string, fields?: object) => void
      node: Enrolled
      rate: number
    },
  ) {
    super(...parts)
    this.node = given.node
    this.#log = given.log
    const at = (...names: string[]) => path.join(this.disk.root, ...names)
    this.#env = {
      HOME: at('home'),
      PATH: at('bin'),
      SVC_AGENT_DIR: at('agent'),
      SVC_ALSA_PROC_ROOT: at('asound'),
      SVC_CONTROLLER_TOKEN: given.node.token,
      SVC_CONTROLLER_URL: 'http://127.0.0.1:8787',
      SVC_METER_BACKEND: 'synthetic',
      SVC_NODE_ID: given.node.id,
      SVC_SYSTEM_HEALTH_ENABLED: 'false',
      ...given.env,
    }
    for (const dir of ['asound/card0', 'bin', 'home']) real.mkdirSync(at(dir), { recursive: true })
    real.writeFileSync(at('bin/ffmpeg'), '', { mode: 0o755 })
    real.writeFileSync(at('asound/card0/id'), 'Sim\n')
    real.writeFileSync(at('asound/card0/stream0'), STREAM(given.rate))
    this.plug(true)
  }

  /** Puts the card in, or pulls it. */
  plug(plugged: boolean): void {
    this.card.plugged = plugged
    real.writeFileSync(path.join(this.disk.root, 'asound/pcm'), plugged ? PCM : '')
  }

  protected async begin(): Promise<void> {
    const log = this.#logOf()
    const config = readConfig([], this.#env)
    const { settings } = config
    const parts = await assemble(config, log)
    const daemon = new Daemon({
      ...parts,
      about: { alias: settings.nodeAlias, nodeId: settings.nodeId, version },
      clock: systemClock,
      collect: async (mayProbe) => {
        const found = await collectInventory(parts.inventory, mayProbe)
        parts.systemHealth.heard(found.interfaces)
        return found
      },
      heartbeatMs: settings.heartbeatSeconds * 1000,
      hold: neverHeld,
      log,
      pollMs: settings.jobPollSeconds * 1000,
      ready: () => {},
      sign: () => {},
    })
    await daemon.run()
  }

  #logOf(): Log {
    const say = (level: string) => (message: string, fields?: object) => this.#log(level, message, fields)
    return { debug: () => {}, error: say('error'), info: say('info'), warn: say('warn') }
  }

  protected ended(): void {
    this.programs.clear()
  }

  get takesDir(): string {
    return path.join(this.disk.root, 'agent', 'takes')
  }
}

export const isRecorder = (run: Run): run is Run & { box: RecorderBox } => run.box instanceof RecorderBox
