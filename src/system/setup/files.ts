// Steps that install files: the program, its units, its sudo rule.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { assetText } from '../../kernel/assets.ts'
import { UserError } from '../../kernel/fail.ts'
import { version } from '../../kernel/version.ts'
import { replaceFile, syncPath } from '../host/files.ts'
import { PLACES } from '../host/places.ts'
import { digestOfFile } from '../host/release.ts'
import type { Step } from './journal.ts'
import { type Journal, link, stands } from './journal.ts'
import { installed, packaged, systemctl, tool } from './system.ts'

const READABLE = 0o755
const linksTo = (file: string, target: string): boolean => stands(file) && fs.readlinkSync(file) === target
const isLink = (file: string): boolean => fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false

/** Readable by everybody, whatever the umask; recorded in the journal. */
function publicDirectory(dir: string, journal: Journal): void {
  if (stands(dir)) return
  publicDirectory(path.dirname(dir), journal)
  journal.keep(dir)
  fs.mkdirSync(dir)
  fs.chmodSync(dir, READABLE)
}

/** Atomic: a power cut leaves no partial program under the final name. */
function copyProgram(from: string, to: string): void {
  const part = `${to}.part`
  fs.copyFileSync(from, part)
  fs.chmodSync(part, READABLE)
  syncPath(part)
  fs.renameSync(part, to)
}

/** Different builds may have the same version: a program that may be running is never overwritten. */
async function placeOf(executable: string): Promise<string> {
  const usual = path.join(PLACES.versions, version, 'roomtone')
  if (!stands(usual) || fs.realpathSync(executable) === usual) return usual
  const [ours, theirs] = await Promise.all([digestOfFile(executable), digestOfFile(usual)])
  return ours === theirs ? usual : path.join(PLACES.versions, `${version}+${ours.slice(0, 12)}`, 'roomtone')
}

/** Installs the program beside its other versions; a running service keeps the one it has. */
export function programStep(executable: string): Step {
  let to = ''
  return {
    name: `the program, version ${version}`,
    async done() {
      to = await placeOf(executable)
      return stands(to) && linksTo(PLACES.executable, to)
    },
    apply(journal) {
      publicDirectory(path.dirname(to), journal)
      publicDirectory(path.dirname(PLACES.executable), journal)
      if (!stands(to)) {
        journal.keep(to)
        copyProgram(executable, to)
      }
      journal.keep(PLACES.executable)
      link(to, PLACES.executable)
    },
  }
}

/** In everybody's PATH. A file of that name that is not ours is not replaced. */
export const commandStep = (): Step => ({
  name: `the command ${PLACES.command}`,
  done: () => linksTo(PLACES.command, PLACES.executable),
  apply(journal) {
    if (stands(PLACES.command) && !isLink(PLACES.command))
      throw new UserError(`${PLACES.command} does not belong to Roomtone: move it away and run this again`)
    publicDirectory(path.dirname(PLACES.command), journal)
    journal.keep(PLACES.command)
    link(PLACES.executable, PLACES.command)
  },
})

/** Units of the Debian package are left to it. */
export function unitsStep(units: readonly string[]): Step {
  const wanted = units.filter((unit) => !packaged(unit))
  const at = (unit: string) => path.join(PLACES.units, unit)
  const differs = (unit: string) =>
    !stands(at(unit)) || fs.readFileSync(at(unit), 'utf8') !== assetText(`systemd/${unit}`)
  return {
    name: 'systemd units',
    done: () => !wanted.some(differs),
    async apply(journal) {
      for (const unit of wanted.filter(differs)) {
        journal.keep(at(unit))
        replaceFile(at(unit), assetText(`systemd/${unit}`), 0o644)
      }
      await systemctl('daemon-reload')
    },
  }
}

const SUDOERS_MODE = 0o440

/** Checked with visudo first: a rule sudo cannot parse would lock everybody out of sudo. */
export function sudoersStep(text: string): Step {
  return {
    name: 'the sudo rule for maintenance',
    done: () => !installed('visudo') || (stands(PLACES.sudoers) && fs.readFileSync(PLACES.sudoers, 'utf8') === text),
    async apply(journal) {
      journal.keepDirectory(path.dirname(PLACES.sudoers))
      journal.keep(PLACES.sudoers)
      const draft = journal.draft('sudoers')
      fs.rmSync(draft, { force: true })
      fs.writeFileSync(draft, text, { mode: SUDOERS_MODE })
      await tool('visudo', ['-c', '-q', '-f', draft])
      fs.mkdirSync(path.dirname(PLACES.sudoers), { mode: 0o750, recursive: true })
      replaceFile(PLACES.sudoers, text, SUDOERS_MODE)
    },
  }
}
