// Finds the capture devices of this machine with arecord, else /proc/asound.
import * as fsp from 'node:fs/promises'
import * as path from 'node:path'
import { NotStarted, run } from '../../system/host/run.ts'
import type { InterfaceInput } from '../../wire/nodes.ts'
import {
  alsaCard,
  type Capabilities,
  type Device,
  interfaceId,
  parseArecordList,
  parseHwDump,
  parseOpenMode,
  parseProcPcm,
  parseStream,
  systemRef,
} from './alsa.rules.ts'
import type { Remembered } from './remembered.ts'

/** An interface as the agent prints it: the wire's shape and the agent's own id. */
export type LocalInterface = InterfaceInput & { id: string }

export interface AlsaOptions {
  arecordCommand: string
  childEnv: NodeJS.ProcessEnv
  /** Replaces /proc/asound, and then alone determines which devices exist. */
  alsaProcRoot?: string | undefined
  /** Runs a probe that opens the device, unless somebody else has it open (undefined). Default: always. */
  lend?: <T>(systemRef: string, look: () => Promise<T>) => Promise<T | undefined>
  procAsoundPcm?: string | undefined
  remembered: Remembered
}

const read = (file: string): Promise<string> => fsp.readFile(file, 'utf8').catch(() => '')
const real = (file: string): Promise<string | undefined> => fsp.realpath(file).catch(() => undefined)

async function arecord(options: AlsaOptions, args: string[]) {
  try {
    return await run(options.arecordCommand, args, { env: options.childEnv, timeoutMs: 5000 })
  } catch (e) {
    // Without arecord /proc/asound still tells which devices there are.
    if (e instanceof NotStarted) return undefined
    throw e
  }
}

const procRoot = (options: AlsaOptions): string =>
  options.alsaProcRoot ?? (options.procAsoundPcm ? path.dirname(options.procAsoundPcm) : '/proc/asound')

/** The kernel's list of PCM devices. */
export const pcmList = (options: AlsaOptions): string => options.procAsoundPcm ?? path.join(procRoot(options), 'pcm')

/** Id of the card with that number now; undefined when there is none. */
export const cardId = async (options: AlsaOptions, number: number): Promise<string | undefined> =>
  (await read(path.join(procRoot(options), `card${number}`, 'id'))).trim() || undefined

/** Whether any program has this capture device open, as the kernel sees it; undefined where it does not tell, as of what is no card. */
export async function isInUse(options: AlsaOptions, device: string): Promise<boolean | undefined> {
  const wanted = alsaCard(device)
  if (!wanted) return undefined
  const root = procRoot(options)
  const cards = (await fsp.readdir(root).catch(() => [])).filter((name) => /^card\d+$/.test(name))
  const ids = await Promise.all(cards.map((card) => read(path.join(root, card, 'id'))))
  const at = cards.findIndex((card, n) => ids[n]?.trim() === wanted.card || card === `card${wanted.card}`)
  if (at < 0) return undefined
  const pcm = path.join(root, cards[at] as string, `pcm${wanted.device}c`)
  const subs = (await fsp.readdir(pcm).catch(() => [])).filter((name) => /^sub\d+$/.test(name))
  const states = await Promise.all(subs.map((sub) => read(path.join(pcm, sub, 'status'))))
  const told = states.map((state) => state.trim())
  if (told.some((state) => state !== '' && state !== 'closed')) return true
  return told.length > 0 && told.every((state) => state === 'closed') ? false : undefined
}

async function listDevices(options: AlsaOptions): Promise<{ devices: Device[]; listed: boolean }> {
  if (options.alsaProcRoot === undefined) {
    const list = await arecord(options, ['-l'])
    const devices = list?.code === 0 ? parseArecordList(list.stdout) : []
    if (devices.length > 0) return { devices, listed: true }
  }
  const root = procRoot(options)
  const devices = parseProcPcm(await read(pcmList(options)))
  const named = devices.map(async (device) => {
    const cardId = (await read(path.join(root, `card${device.card}`, 'id'))).trim()
    return cardId === '' ? device : { ...device, cardId }
  })
  return { devices: await Promise.all(named), listed: false }
}

async function openMode(cardDir: string, device: number): Promise<Capabilities> {
  const pcm = path.join(cardDir, `pcm${device}c`)
  const subs = (await fsp.readdir(pcm).catch(() => [])).filter((name) => /^sub\d+$/.test(name))
  for (const sub of subs) {
    const mode = parseOpenMode(await read(path.join(pcm, sub, 'hw_params')))
    if (mode.channelCount !== undefined) return mode
  }
  return {}
}

/**
 * Capabilities of the device: from the USB stream file, else from the device itself (arecord dumps them before it tries any
 * mode). For a device in use those seen before are kept, since a narrower answer would make the controller forget channels
 * and their names.
 */
async function capabilities(options: AlsaOptions, d: Device, mayProbe: boolean): Promise<Capabilities> {
  const cardDir = path.join(procRoot(options), `card${d.card}`)
  const stream = parseStream(await read(path.join(cardDir, `stream${d.device}`)))
  if (stream.channelCount !== undefined && stream.sampleRates !== undefined) return stream
  const ref = systemRef(d)
  const key = `${ref} ${d.name} ${(await read(path.join(cardDir, 'usbid'))).trim()}`
  const before = options.remembered.get(key)
  if (before && (!mayProbe || options.remembered.fresh(key))) return { ...before, ...stream }
  const look = () => arecord(options, ['-D', ref, '--dump-hw-params', '-s', '1', '/dev/null'])
  const dump = mayProbe ? await (options.lend ? options.lend(ref, look) : look()) : undefined
  const probed = dump ? parseHwDump(`${dump.stdout}\n${dump.stderr}`) : {}
  if (probed.channelCount === undefined) return { ...(before ?? (await openMode(cardDir, d.device))), ...stream }
  options.remembered.set(key, probed)
  return { ...probed, ...stream }
}

/** The first `serial` file, or `SERIAL=` of a `uevent`, from the device upwards. */
async function serialNumber(deviceDir: string | undefined): Promise<string | undefined> {
  for (let dir = deviceDir; dir?.startsWith('/sys/devices/'); dir = path.dirname(dir)) {
    const serial = (await read(path.join(dir, 'serial'))).trim()
    if (serial !== '') return serial
    const event = /^SERIAL=(.+)$/m.exec(await read(path.join(dir, 'uevent')))?.[1]?.trim()
    if (event) return event
  }
  return undefined
}

async function hardware(options: AlsaOptions, d: Device): Promise<{ hardwarePath: string; serialNumber?: string }> {
  const literal = `/proc/asound/card${d.card}/pcm${d.device}c`
  // A replaced /proc/asound describes another machine than /sys.
  if (options.alsaProcRoot !== undefined) return { hardwarePath: literal }
  const card = `/sys/class/sound/card${d.card}`
  const deviceDir = await real(`${card}/device`)
  const serial = await serialNumber(deviceDir)
  return {
    hardwarePath: (await real(`${card}/pcmC${d.card}D${d.device}c`)) ?? deviceDir ?? literal,
    ...(serial ? { serialNumber: fit(serial, 255) } : {}),
  }
}

/** Text the controller accepts: no control characters, not too long. One odd name must not invalidate the whole report. */
export const fit = (text: string, max: number): string =>
  text
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, max)
    .trim()
    .toWellFormed()

async function describe(options: AlsaOptions, d: Device, listed: boolean, mayProbe: boolean): Promise<LocalInterface> {
  const { channelCount = 2, sampleRates = [48_000] } = await capabilities(options, d, mayProbe)
  const { hardwarePath, ...serial } = await hardware(options, d)
  const name = d.name || systemRef(d)
  return {
    alias: fit(name, 160),
    backend: 'alsa',
    channelCount,
    channels: channelList(channelCount),
    hardwarePath: fit(hardwarePath, 500),
    id: interfaceId(d, listed),
    sampleRates,
    ...serial,
    systemName: fit(name, 255),
    systemRef: fit(systemRef(d), 255),
  }
}

export const channelList = (count: number): InterfaceInput['channels'] =>
  Array.from({ length: count }, (_, i) => ({ alias: `Input ${i + 1}`, index: i + 1 }))

const MAX_INTERFACES = 64

/** Every capture device, each ref once, in the order of the cards. `mayProbe` false: no device is opened. */
export async function discoverAlsa(options: AlsaOptions, mayProbe: boolean): Promise<LocalInterface[]> {
  const { devices, listed } = await listDevices(options)
  const distinct = [...new Map(devices.map((d) => [systemRef(d), d])).values()].slice(0, MAX_INTERFACES)
  const found: LocalInterface[] = []
  for (const device of distinct) found.push(await describe(options, device, listed, mayProbe))
  return found
}
