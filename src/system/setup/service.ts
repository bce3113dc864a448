// Services: enabled, started, and seen working.

import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../kernel/clock.ts'
import { UserError } from '../../kernel/fail.ts'
import { readOnlineSign } from '../host/onlinesign.ts'
import { PLACES, UNITS } from '../host/places.ts'
import { agentDir, heldTakes } from '../host/takes.ts'
import type { Journal, Step } from './journal.ts'
import type { SetupParts } from './options.ts'
import { resetFailed, systemctl, tool, unitState } from './system.ts'

const ONLINE_MS = 90_000
const LOOK_MS = 250
/** A new version may first have to migrate a large database. */
const START_MS = 16 * 60_000

/** Process ID of a service; 0 when it does not run. */
export const mainPid = async (unit: string): Promise<number> =>
  Number((await systemctl('show', '--property=MainPID', '--value', unit)).trim())

/** Start time of the service, Unix ms. systemd gives it on the monotonic clock. */
async function startedAt(unit: string): Promise<number> {
  const property = ['--property=ExecMainStartTimestampMonotonic', '--value']
  const sinceBootUs = Number((await systemctl('show', ...property, unit)).trim())
  return systemClock.now() - (Number(process.hrtime.bigint() / 1000n) - sinceBootUs) / 1000
}

/** Whether the service runs another program than the one installed, or was started before a file it reads changed. */
async function outdated(unit: string, reads: readonly string[]): Promise<boolean> {
  const pid = await mainPid(unit)
  if (pid === 0) return false
  // The link of a replaced program ends in " (deleted)".
  if (fs.readlinkSync(`/proc/${pid}/exe`) !== fs.realpathSync(PLACES.executable)) return true
  const since = await startedAt(unit)
  return reads.some((file) => (fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > since)
}

interface ServiceStepParts {
  /** Whether it must not be stopped now. */
  busy: () => boolean
  /** Makes it start nothing new until the returned function is called. */
  hold?: () => Promise<() => void>
  /** Makes it apply the changes later. */
  later: () => Promise<void>
  parts: SetupParts
  /** What it reads at its start. */
  reads: readonly string[]
  unit: string
  /** Resolves once it works; throws UserError when it does not. */
  working: (signal: AbortSignal) => Promise<void>
}

async function started(verb: 'start' | 'restart', unit: string, signal: AbortSignal): Promise<void> {
  await resetFailed(unit)
  try {
    await tool('systemctl', [verb, unit], { signal, timeoutMs: START_MS })
  } catch {
    signal.throwIfAborted()
    const words = await tool('journalctl', ['-u', unit, '-n', '5', '-o', 'cat', '--no-pager'])
    throw new UserError(`${unit} does not start. Its last log lines: ${words.trim().slice(-800)}`)
  }
}

/** Enables and starts a service; a running one is restarted only if that changes something and costs no take. */
export function serviceStep({ busy, hold, later, parts, reads, unit, working }: ServiceStepParts): Step {
  const begin = async (journal: Journal) => {
    const before = await unitState(unit)
    if (before.active && busy()) return await later()
    const releaseAgent = before.active ? await hold?.() : undefined
    try {
      // A take may have started before the hold.
      if (before.active && busy()) return await later()
      journal.record({ kind: 'unit', unit, ...before, restart: before.active })
      await systemctl('enable', '--quiet', unit)
      await started(before.active ? 'restart' : 'start', unit, parts.signal)
    } finally {
      releaseAgent?.()
    }
    await working(parts.signal)
  }
  return {
    name: `the service ${unit}`,
    async done() {
      const { active, enabled } = await unitState(unit)
      return active && enabled && !(await outdated(unit, reads))
    },
    apply: begin,
  }
}

/** Units started by something else: a device, the boot. */
export const enabledStep = (name: string, units: readonly string[]): Step => ({
  name,
  async done() {
    const states = await Promise.all(units.map(unitState))
    return states.every(({ enabled }) => enabled)
  },
  async apply(journal) {
    for (const unit of units) journal.record({ kind: 'unit', unit, ...(await unitState(unit)), restart: false })
    await systemctl('enable', '--quiet', ...units)
  },
})

/** Waits until this box's agent is online. @throws UserError after 90 s */
export async function untilOnline(signal: AbortSignal): Promise<void> {
  const pid = await mainPid(UNITS.agent)
  for (const end = performance.now() + ONLINE_MS; performance.now() < end; ) {
    const sign = readOnlineSign(agentDir())
    if (sign?.online && sign.pid === pid) return
    await sleep(LOOK_MS, undefined, { signal })
  }
  const words = await tool('journalctl', ['-u', UNITS.agent, '-n', '3', '-o', 'cat', '--no-pager'])
  throw new UserError(
    `the agent runs, but was not online within ${ONLINE_MS / 1000} s. Its last log lines: ${words.trim().slice(-800)}`,
  )
}

export const agentBusy = (): boolean => heldTakes().running > 0

/** Starts the unit that restarts the agent as soon as no take runs. */
export async function refreshLater({ say }: SetupParts): Promise<void> {
  await systemctl('start', '--no-block', UNITS.agentRefresh)
  say('This box is recording: the agent applies the changes when no take is running.')
}
