// roomtone usb-config: enrolls rooms, mints their tokens and writes the stick.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { makeDir } from '../../kernel/dirs.ts'
import { UserError } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'
import { type BootstrapConfigRequest, SETUP_FILE, SETUP_LABEL, SetupFile } from '../../wire/provision.ts'
import { ask } from '../host/ask.ts'
import { replaceFile } from '../host/files.ts'
import { called } from './choose.rules.ts'
import { readUsbConfig, type UsbConfig } from './config.ts'
import { dataOf, withSession } from './session.ts'

const HELP = `usage: roomtone usb-config --controller-url URL --email EMAIL --out DIR --room "Alias;site;room" [...]

Enrolls each room, mints a single-use token for it and writes ${SETUP_FILE} into DIR, where a stick with the label
${SETUP_LABEL} or the boot partition of an image is mounted. The file holds tokens: until they are used or expire, whoever
has it can join as these nodes.

  --room "Alias;site;room[;hostname=NAME][;mac=ADDRESS][;serial=NUMBER]"
                            a new node; the last three say which box it is for. May be given several times
  --rooms-file FILE         the same as a table (CSV) whose first line names the columns:
                            alias, site, room, hostname, mac, serial, node
  --node ID                 an existing node; may be given several times
  --ttl TIME                how long the tokens are valid: 15m, 4h, at most 24h (24h)
  --replace                 boxes that already belong to a node of this controller are set up again
  --write-back              boxes remove their entry and write ${'`'}roomtone-result.txt${'`'} to the stick
  --controller-url URL      the controller as the boxes reach it (or SVC_CONTROLLER_URL)
  --api-url URL             its address for this machine, if that is different
  --controller-ca FILE      certificate authority of the controller (PEM); goes onto the stick
  --allow-insecure          accept plain http and any certificate (development only)
  --email EMAIL             your account; its password comes from --password-file FILE (- is standard input), or you are asked for it
  --session-token-file FILE a session in place of a login (or SVC_SESSION_TOKEN)
  --allow-local             DIR is an ordinary directory of this machine, not a stick
  --again                   enroll another recorder for a room that has one
  --overwrite               replace an existing ${SETUP_FILE}
`

const READABLE_BY_OWNER = 0o600

/** Checked before any token is minted. @throws UserError */
function mayWrite({ allowLocal, out, overwrite }: UsbConfig): void {
  const file = path.join(out, SETUP_FILE)
  if (!allowLocal && !isMountPoint(out))
    throw new UserError(
      `No stick is mounted at ${out}: mount it first, or pass --allow-local to write into a directory of this machine. ` +
        'No room was enrolled.',
    )
  try {
    if (allowLocal) makeDir(out)
    fs.accessSync(out, fs.constants.W_OK | fs.constants.X_OK)
  } catch (e) {
    throw new UserError(`${out} cannot be written: ${faultWords(e, out)}.`)
  }
  if (!overwrite && fs.lstatSync(file, { throwIfNoEntry: false }))
    throw new UserError(`${file} already exists, and its tokens may still be valid: add --overwrite to replace it.`)
}

/** Two recorders in one room are rare; running the command twice is not. @throws UserError */
async function refuseTaken({ again, controller, nodes }: UsbConfig, signal: AbortSignal, token: string): Promise<void> {
  const warnings: string[] = []
  for (const wanted of nodes) {
    if ('nodeId' in wanted) continue
    const { room, site } = wanted
    const place = new URLSearchParams({ limit: '200', room, site })
    const answer = await ask(controller, { method: 'GET', path: `/nodes?${place}`, signal, token })
    const there = dataOf('look at its nodes', answer) as { alias: string; id: string }[]
    for (const { alias, id } of there) warnings.push(`${site}, ${room} has a recorder: "${alias}" (${id}).`)
  }
  if (warnings.length === 0) return
  if (again) return void process.stderr.write(`${warnings.join('\n')}\n`)
  const advice = 'For a new token of that recorder pass --node with its ID, for another recorder in that room --again.'
  throw new UserError(`${warnings.join('\n')}\n${advice} No room was enrolled.`)
}

async function minted(config: UsbConfig, signal: AbortSignal): Promise<SetupFile> {
  const { boxUrl, controller, nodes, replace, ttlSeconds, writeBack } = config
  const body: BootstrapConfigRequest = {
    allowInsecure: controller.allowInsecure,
    ...(controller.ca ? { controllerCa: controller.ca } : {}),
    controllerUrl: boxUrl,
    nodes,
    replace,
    ttlSeconds,
    writeBack,
  }
  const answer = await withSession(config, signal, async (token) => {
    await refuseTaken(config, signal, token)
    return await ask(controller, { body, method: 'POST', path: '/nodes/bootstrap-config', signal, token })
  })
  return SetupFile.parse(dataOf('request', answer))
}

const inWords = (file: SetupFile, where: string): string =>
  [
    `${where} has been written. It holds tokens: keep the stick like a key.`,
    ...file.nodes.map((n) => `  ${called(n)}, ${n.site}, ${n.room}: valid until ${n.expiresAt}`),
    `Insert it into a prepared box (label ${SETUP_LABEL}), or run there: sudo roomtone provision --from DIRECTORY`,
  ].join('\n')

async function usbConfig(config: UsbConfig): Promise<void> {
  mayWrite(config)
  const signal = new AbortController().signal
  const file = await minted(config, signal)
  const where = path.join(config.out, SETUP_FILE)
  replaceFile(where, `${JSON.stringify(file, null, 2)}\n`, READABLE_BY_OWNER)
  process.stdout.write(`${inWords(file, where)}\n`)
}

/** Exit codes: 0 written, 1 not, 2 wrong usage. */
export async function main(args: string[]): Promise<number> {
  const config = readUsbConfig(args)
  if (config) await usbConfig(config)
  else process.stdout.write(HELP)
  return 0
}

/** /proc/self/mountinfo escapes blanks and the like in octal; proc_pid_mountinfo(5). */
const unescaped = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

/**
 * Whether a file system other than the root is mounted at this directory. Follows links; false when it does not exist.
 */
export function isMountPoint(dir: string): boolean {
  const at = fs.existsSync(dir) ? fs.realpathSync(dir) : undefined
  if (at === undefined || at === '/') return false
  const lines = fs.readFileSync('/proc/self/mountinfo', 'latin1').split('\n')
  return lines.some((line) => Buffer.from(unescaped(line.split(' ')[4] ?? ''), 'latin1').toString('utf8') === at)
}
