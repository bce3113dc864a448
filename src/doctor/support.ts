// roomtone support: one file with everything that support asks for, and nothing that has to stay.
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { iso, systemClock } from '../kernel/clock.ts'
import { misuse } from '../kernel/fail.ts'
import { sizeText } from '../kernel/size.ts'
import { packFolder } from '../system/host/archive.ts'
import { DOCTOR_ROLES, type DoctorRole } from '../wire/doctor.ts'
import { rolesHere } from './config.ts'
import type { Part } from './gather.ts'
import { packed } from './pack.ts'

const HELP = `usage: roomtone support [--output FILE] [--yes] [--role ${DOCTOR_ROLES.join('|')}]

Packs what support needs into one file (tar.gz, mode 0600): the journals of the services, what roomtone doctor finds,
versions, and the settings without secrets. Names of recorders, rooms, sites, schedules, recordings and people are replaced,
the same one by the same word; so are keys, tokens, passwords and e-mail addresses. Shows what is in it, and asks before
it writes. Sends nothing to anybody. Run it with sudo.

  --output FILE   the file (default: roomtone-support-DATE.tar.gz in this directory); one that exists is not replaced
  --yes           do not ask

Exit code 0: the file was written. 1: it was not. 2: wrong usage, or the settings may not be read.
`

const OPTIONS = {
  help: { short: 'h', type: 'boolean' },
  output: { type: 'string' },
  role: { type: 'string' },
  yes: { short: 'y', type: 'boolean' },
} as const
const OWN = 0o600

/** Resolves to the exit code. @throws UserError for wrong usage; errors of the disk */
export async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: OPTIONS })
  if (values.help) return say(HELP)
  const roles = rolesOf(values.role)
  const output = path.resolve(values.output ?? `roomtone-support-${stamp(systemClock.now())}.tar.gz`)
  if (fs.existsSync(output)) throw misuse(`${output} exists already: name another file with --output`)
  // Whatever is written belongs to whoever runs this, and to nobody else.
  process.umask(0o077)
  process.stderr.write('Collecting; this takes up to half a minute ...\n')
  const parts = await packed(roles)
  say(listing(parts, output))
  if (!values.yes && !(await agreed())) {
    say('Nothing was written.\n')
    return 1
  }
  await write(parts, output)
  return say(`${output}: ${sizeText(fs.statSync(output).size)}.\n`)
}

function say(words: string): number {
  process.stdout.write(words)
  return 0
}

function rolesOf(given: string | undefined): DoctorRole[] {
  const role = DOCTOR_ROLES.find((known) => known === given)
  if (given !== undefined && !role) throw misuse(`--role is one of ${DOCTOR_ROLES.join(', ')}, not "${given}"`)
  return role ? [role] : rolesHere()
}

/** `20261126-064010`, UTC. */
const stamp = (now: number): string => iso(now).slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')

function listing(parts: readonly Part[], output: string): string {
  const width = Math.max(...parts.map(({ name }) => name.length))
  const lines = parts.map(({ name, text }) => `  ${name.padEnd(width)}  ${sizeText(Buffer.byteLength(text))}\n`)
  return `This goes into ${output}:\n${lines.join('')}`
}

/** @throws UserError where nobody sits who could be asked */
async function agreed(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw misuse('Nobody can be asked here, and nothing was written: pass --yes')
  const asking = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const answer = await asking.question('Write it? [y/N] ')
    return /^(y|yes|j|ja)$/i.test(answer.trim())
  } finally {
    asking.close()
  }
}

/** Whole or not at all. */
async function write(parts: readonly Part[], output: string): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-support-'))
  const draft = `${output}.part`
  try {
    for (const { name, text } of parts) fs.writeFileSync(path.join(folder, name), text, { flag: 'wx', mode: OWN })
    // Made by us with its mode before tar writes to it.
    fs.closeSync(fs.openSync(draft, 'wx', OWN))
    await packFolder(
      folder,
      parts.map(({ name }) => name),
      draft,
    )
    fs.renameSync(draft, output)
  } finally {
    fs.rmSync(draft, { force: true })
    fs.rmSync(folder, { force: true, recursive: true })
  }
}
