// What a running agent tells a doctor beside it: its devices are open, and nobody else may open them.
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { jsonOf } from '../../kernel/http.ts'
import { version } from '../../kernel/version.ts'
import { advice, command, DeviceFindings, type Finding, type Fix, fitted } from '../../wire/doctor.ts'
import { shellWord } from '../../wire/install.ts'
import type { AudioLevel } from '../../wire/meters.ts'
import type { Listener, Opening } from '../capture/bus.ts'
import type { Measurement } from '../meters/accumulator.ts'
import { lockName } from '../proc/lock.ts'
import type { Settings } from '../settings.ts'
import { judgeLevels } from './level.rules.ts'

/** How much of the past is judged, ms of audio; as long as the doctor listens itself. */
export const JUDGED_SECONDS = 3
const ANSWER_MS = 5000

export interface LevelMemory {
  /** For the bus of the open devices. */
  listener: Listener
  /** A measurement of an open device. */
  measured(opening: Opening, measurement: Measurement): void
  findings(): DeviceFindings
}

const skip = (message: string): Finding => ({ message, status: 'skipped' })

/** Remembers the last seconds of the open devices, as levels. */
export function createLevelMemory(settings: Pick<Settings, 'meterFlatlineDbfs' | 'meterSampleSeconds'>): LevelMemory {
  const most = Math.max(1, Math.ceil(JUDGED_SECONDS / settings.meterSampleSeconds))
  const open = new Map<Opening, AudioLevel[][]>()
  let refused: { device: string; words: string } | undefined

  const level = (): Finding => {
    const real = [...open].filter(([{ test }]) => !test)
    if (real.length === 0) return skip(open.size > 0 ? 'A test tone stands in for a device' : 'No device is open')
    const all = real.map(([{ device }, measured]) => ({ device, ...judgeLevels(measured, settings.meterFlatlineDbfs) }))
    const worst = all.find(({ status }) => status === 'warn') ?? all.find(({ status }) => status === 'ok') ?? all[0]
    const { device, ...finding } = worst as (typeof all)[number]
    return { ...finding, message: `${device}: ${finding.message}` }
  }
  const opens = (): Finding => {
    const names = [...open.keys()].map(({ device }) => device).join(', ')
    if (names) return { message: `The agent has ${names} open, for meters and takes`, status: 'ok' }
    if (!refused) return skip('The agent has no device open')
    const { device, words } = refused
    return { fix: refusedFix(device, words), message: `${device} cannot be opened: ${words}`, status: 'fail' }
  }
  return {
    findings: () => ({ level: fitted(level()), opens: fitted(opens()) }),
    listener: {
      block: () => {},
      closed: (opening, fault) => {
        open.delete(opening)
        if (fault !== undefined) refused = { device: opening.device, words: fault }
      },
      opened: (opening) => {
        open.set(opening, [])
        refused = undefined
      },
      unavailable: (device, words) => {
        refused = { device, words }
      },
    },
    measured: (opening, { levels, quick }) => {
      const kept = open.get(opening)
      if (kept && !quick) open.set(opening, [...kept, levels].slice(-most))
    },
  }
}

/** What to do about a device that is there and does not open. */
export function refusedFix(device: string, words: string): Fix {
  if (/busy/i.test(words))
    return advice(
      'Another program has it: stop that, or take the sound server off this card. Which it is:',
      'sudo fuser -v /dev/snd/*',
    )
  if (/permission denied/i.test(words))
    return command('sudo usermod -aG audio roomtone-agent && sudo systemctl restart roomtone-agent')
  if (/no such (file|device)|unknown pcm|cannot find card/i.test(words))
    return advice(
      'Plug the device in again, or name another one in SVC_CAPTURE_DEVICE (/etc/roomtone/recorder-agent.env). What is there:',
      'arecord -l',
    )
  return advice(
    'Plug the device in again. Why it does not open:',
    `arecord -D ${shellWord(device)} -d 1 /dev/null; sudo dmesg | tail`,
  )
}

/** What the agent of a directory says of its devices; undefined when none runs there, or an older one. */
export async function askAgent(agentDir: string): Promise<{ findings: DeviceFindings | undefined } | undefined> {
  const name = lockName(agentDir)
  if (name === undefined) return undefined
  const socket = connect(name)
  const timer = setTimeout(() => socket.destroy(), ANSWER_MS)
  const running = new Promise<boolean>((resolve) => {
    socket
      .once('connect', () => resolve(true))
      .once('error', () => resolve(false))
      .once('close', () => resolve(false))
  })
  try {
    if (!(await running)) return undefined
    const answer = DeviceFindings.safeParse(jsonOf(await text(socket).catch(() => '')))
    return { findings: answer.data }
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

/** The answer to whoever connects to the agent's lock. */
export const levelText = (told: LevelMemory): string => `${JSON.stringify({ ...told.findings(), version })}\n`
