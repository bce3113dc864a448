// Debian packages Roomtone needs: installed with apt, or listed where there is no apt.

import * as fs from 'node:fs'
import { UserError } from '../../kernel/fail.ts'
import { run } from '../host/run.ts'
import { toolEnv } from './config.ts'
import type { Step } from './journal.ts'
import type { Role, SetupParts } from './options.ts'
import { installed, lastWords, tool } from './system.ts'

interface Need {
  has: () => boolean
  /** What is lost without it. */
  for: string
  package: string
  roles: Role[]
}

const program =
  (...names: string[]) =>
  () =>
    names.every(installed)
const NEEDS: Need[] = [
  { package: 'alsa-utils', has: program('arecord'), roles: ['agent'], for: 'recording' },
  { package: 'ffmpeg', has: program('ffmpeg', 'ffprobe'), roles: ['agent', 'controller'], for: 'encoding' },
  { package: 'openssh-client', has: program('ssh', 'ssh-keygen'), roles: ['agent', 'lifecycle'], for: 'keys' },
  { package: 'openssh-server', has: program('sshd'), roles: ['agent'], for: 'maintenance from the controller' },
  { package: 'sudo', has: program('sudo', 'visudo'), roles: ['agent'], for: 'maintenance from the controller' },
  { package: 'curl', has: program('curl'), roles: ['agent'], for: 'this installer' },
  { package: 'tar', has: program('tar'), roles: ['agent', 'controller'], for: 'updates' },
  {
    package: 'ca-certificates',
    has: () => fs.existsSync('/etc/ssl/certs/ca-certificates.crt'),
    roles: ['agent', 'controller', 'lifecycle'],
    for: 'https',
  },
]

const missingPackages = (roles: readonly Role[]): string[] =>
  NEEDS.filter((need) => need.roles.some((role) => roles.includes(role)) && !need.has()).map((need) => need.package)

const OWN = 'roomtone'
const PACKAGES_MS = 30 * 60_000
/** A new box may be updating itself: wait for its lock. */
const APT = ['-q', '-y', '-o', 'DPkg::Lock::Timeout=600']

/** Empty without dpkg. */
export async function installedPackages(): Promise<string[]> {
  if (!installed('dpkg-query')) return []
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg's own placeholders
  const format = ['-W', '-f', '${db:Status-Abbrev}${binary:Package}\\n']
  const listed = await tool('dpkg-query', format, { maxOutput: 2 ** 24 })
  return listed.split('\n').flatMap((line) => (line.startsWith('i') ? [line.slice(3).trim()] : []))
}

export async function removePackages(names: string[]): Promise<void> {
  if (names.length > 0) await tool('apt-get', [...APT, 'purge', ...names], { timeoutMs: PACKAGES_MS })
}

/**
 * Removes Roomtone's own Debian package, whose scripts stop the services. @returns what was removed @throws UserError
 */
export async function removeOwnPackage(purge: boolean): Promise<string> {
  if (installed('apt-get')) await tool('apt-get', [...APT, purge ? 'purge' : 'remove', OWN], { timeoutMs: PACKAGES_MS })
  else await tool('dpkg', [purge ? '--purge' : '--remove', OWN], { timeoutMs: PACKAGES_MS })
  return `the package ${OWN}`
}

/** Ignores the signal: killing a package manager leaves the box broken. The run stops afterwards. */
async function install(names: string[]): Promise<void> {
  const apt = (...args: string[]) => run('apt-get', [...APT, ...args], { env: toolEnv(), timeoutMs: PACKAGES_MS })
  const update = await apt('update')
  const result = await apt('--no-install-recommends', 'install', ...names)
  if (result.code === 0) return
  throw new UserError(
    `apt-get could not install ${names.join(', ')}: ${lastWords(result)}. ` +
      `${update.code === 0 ? '' : 'Its package lists could not be updated either: check the connection to the mirror. '}` +
      'Install them by hand and run this again, or pass --no-packages to continue without them',
  )
}

/** Installs missing packages with apt. @throws UserError without apt */
export function packagesStep(roles: readonly Role[], wanted: boolean, { say }: SetupParts): Step {
  const tell = (missing: string[]) => {
    const lost = new Set(NEEDS.filter((need) => missing.includes(need.package)).map((need) => need.for))
    say(`Not installed: ${missing.join(', ')}. Unavailable without them: ${[...lost].join(', ')}.`)
  }
  return {
    name: 'packages',
    done: () => {
      const missing = missingPackages(roles)
      if (missing.length > 0 && !wanted) tell(missing)
      return missing.length === 0 || !wanted
    },
    async apply(journal) {
      const missing = missingPackages(roles)
      if (!installed('apt-get'))
        throw new UserError(
          `this system has no apt-get, so packages cannot be installed for you. Install what Debian calls ${missing.join(', ')} and run this again, or pass --no-packages`,
        )
      journal.record({ kind: 'packages', before: await installedPackages() })
      await install(missing)
      const still = missingPackages(roles)
      if (still.length > 0)
        throw new UserError(
          `apt-get reports ${still.join(', ')} as installed, but their programs are missing: repair them with "apt-get install --reinstall ${still.join(' ')}", or pass --no-packages`,
        )
    },
  }
}
