// What identifies this box to the entries of a stick, and which node it is already.
import * as fs from 'node:fs'
import * as os from 'node:os'
import { isOn } from '../../kernel/settings.ts'
import type { Controller } from '../host/ask.ts'
import { readEnvFile } from '../host/envfile.ts'
import { readSmall } from '../host/files.ts'
import type { Box } from './choose.rules.ts'

/** The node this box is, and its controller. `ca` is empty when its file cannot be read: then nobody is trusted. */
export type Present = Controller & { nodeId: string }

const SERIALS = [
  '/sys/class/dmi/id/product_serial',
  '/sys/class/dmi/id/board_serial',
  '/proc/device-tree/serial-number',
]
const NETWORK = '/sys/class/net'
const NO_MAC = '00:00:00:00:00:00'

/** Empty when the file is missing or not readable. */
function line(file: string): string {
  try {
    // Firmware ends its texts with a zero byte.
    return fs.readFileSync(file, 'latin1').replaceAll('\0', '').trim().toLowerCase()
  } catch {
    return '' // this hardware has no such identifier
  }
}

const real = (text: string): boolean => text !== '' && text !== NO_MAC

export function thisBox(): Box {
  const cards = fs.existsSync(NETWORK) ? fs.readdirSync(NETWORK) : []
  return {
    hostname: os.hostname().toLowerCase(),
    macs: [...new Set(cards.map((card) => line(`${NETWORK}/${card}/address`)).filter(real))],
    serials: [...new Set(SERIALS.map(line).filter(real))],
  }
}

/** The node this box belongs to, and how it reaches its controller; undefined when it has no token yet. */
export function onboardedAs(settingsFile: string): Present | undefined {
  const settings = readEnvFile(settingsFile)
  if (!settings.SVC_CONTROLLER_TOKEN && !settings.SVC_CONTROLLER_TOKEN_FILE) return undefined
  const { SVC_CONTROLLER_CA_CERT_PATH: caFile, SVC_CONTROLLER_URL: url = '' } = settings
  return {
    allowInsecure: isOn(settings.SVC_ALLOW_INSECURE_CONTROLLER),
    ca: caFile === undefined ? undefined : (readSmall(caFile) ?? ''),
    nodeId: settings.SVC_NODE_ID ?? '(unknown)',
    url: url.replace(/\/+$/, ''),
  }
}
