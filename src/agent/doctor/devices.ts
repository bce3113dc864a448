// Checks of the capture device. It is opened only where nobody has it and no agent runs: a take is never disturbed.
import { UserError } from '../../kernel/fail.ts'
import { fail, ok, skipped, warn } from '../../system/checks/examine.ts'
import { advice, type DeviceFindings, type Finding } from '../../wire/doctor.ts'
import { type StandbyWish, standbyWish } from '../capture/standby.rules.ts'
import type { AgentConfig } from '../config.ts'
import { alsaCard } from '../inventory/alsa.rules.ts'
import { isInUse, type LocalInterface } from '../inventory/alsa.ts'
import { collectInventory, type InventoryOptions } from '../inventory/inventory.ts'
import { hearDevice } from '../meters/print.ts'
import { judgeLevels } from './level.rules.ts'
import { askAgent, JUDGED_SECONDS, refusedFix } from './levelmemory.ts'

const LOOK_MS = 250
const SETTINGS_FILE = '/etc/roomtone/recorder-agent.env'

/** The capture devices of this machine; none is opened. */
const listed = async (inventory: InventoryOptions): Promise<LocalInterface[]> =>
  (await collectInventory(inventory, false)).interfaces

export async function devicePresent({ settings }: AgentConfig, inventory: InventoryOptions): Promise<Finding> {
  const found = await listed(inventory)
  const names = found.map(({ alias, channelCount }) => `${alias} (${channelCount} channels)`).join(', ')
  if (found.length === 0)
    return fail(
      'There is no capture device',
      advice(
        'Plug the sound card in; a device that is no card is named in SVC_CAPTURE_DEVICE. What the system sees of it:',
        'arecord -l; lsusb; sudo dmesg | tail',
      ),
    )
  if (found.every(({ systemRef }) => systemRef?.startsWith('test:')))
    return warn(
      'Only a test tone: no capture device',
      advice(
        `Plug the sound card in, and remove SVC_TEST_SOURCE from ${SETTINGS_FILE}. Then:`,
        'sudo systemctl restart roomtone-agent',
      ),
    )
  const { captureDevice } = settings
  if (alsaCard(captureDevice) && !namesOneOf(settings, found))
    return fail(
      `${captureDevice}, which the settings name, is not there; there is ${names}`,
      advice(
        `Plug it in, or set SVC_CAPTURE_DEVICE in ${SETTINGS_FILE} to a name that arecord -L lists. Then:`,
        'sudo systemctl restart roomtone-agent',
      ),
    )
  return ok(names)
}

/** Whether what would be opened is the device that the settings name. */
const namesOneOf = (settings: AgentConfig['settings'], found: LocalInterface[]): boolean =>
  standbyWish({ ...settings, meterBackend: 'alsa' }, found)?.device === settings.captureDevice

/** Opens the device and listens for three seconds, unless somebody has it or may have it. */
export async function hearAlone(
  config: AgentConfig,
  inventory: InventoryOptions,
  signal: AbortSignal,
): Promise<DeviceFindings> {
  const agent = await askAgent(config.settings.agentDir)
  if (agent?.findings) return agent.findings
  if (agent) return both(skipped('The agent of this machine has the device and does not say more'))
  const { captureBackend, meterBackend } = config.settings
  const backend = meterBackend === 'synthetic' ? captureBackend : meterBackend
  const heard = { ...config, settings: { ...config.settings, meterBackend: backend } }
  const wish = standbyWish(heard.settings, await listed(inventory))
  if (!wish) return both(skipped('There is no device to open (device.present)'))
  if (wish.device.startsWith('test:')) return both(skipped('A test tone stands in for a device'))
  const inUse = await isInUse(inventory, wish.device)
  // A take of its own, started by hand for example, may have it.
  if (inUse === undefined) return both(skipped(`${wish.device} was not tested: whether it is in use is unknown`))
  if (inUse) return both(skipped(`${wish.device} is in use by another program`))
  return await opened(heard, wish, signal)
}

const both = (finding: Finding): DeviceFindings => ({ level: finding, opens: finding })

async function opened(config: AgentConfig, wish: StandbyWish, signal: AbortSignal): Promise<DeviceFindings> {
  const { agentDir, meterFlatlineDbfs } = config.settings
  const starting = new AbortController()
  // An agent that starts meanwhile may have a take to begin.
  const watch = setInterval(async () => {
    if (await askAgent(agentDir)) starting.abort()
  }, LOOK_MS)
  try {
    const { measurement } = await hearDevice(config, wish, JUDGED_SECONDS, AbortSignal.any([signal, starting.signal]))
    return { level: judgeLevels([measurement.levels], meterFlatlineDbfs), opens: ok(`${wish.device} opens`) }
  } catch (e) {
    if (starting.signal.aborted) return both(skipped('The agent has just started: it has the device now'))
    signal.throwIfAborted()
    if (!(e instanceof UserError)) throw e
    return refused(wish.device, e.message)
  } finally {
    clearInterval(watch)
  }
}

function refused(device: string, words: string): DeviceFindings {
  if (/busy/i.test(words)) return both(skipped(`${device} is in use by another program`))
  return { level: skipped('The device does not open'), opens: fail(words, refusedFix(device, words)) }
}
