// The only reader of the doctor's environment: which roles this box has, and where their settings come from.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { misuse } from '../kernel/fail.ts'
import { readEnvFile } from '../system/host/envfile.ts'
import { PLACES, UNITS, USERS } from '../system/host/places.ts'
import { DOCTOR_ROLES, type DoctorRole } from '../wire/doctor.ts'

type Env = Record<string, string | undefined>

interface Installed {
  /** Directory the unit starts the service in; undefined where it makes one itself. */
  home: string | undefined
  settings: string
  unit: string
  user: string
}

export const INSTALLED: Record<DoctorRole, Installed> = {
  agent: { home: PLACES.agentHome, settings: PLACES.agentSettings, unit: UNITS.agent, user: USERS.agent },
  controller: {
    home: PLACES.controllerHome,
    settings: PLACES.controllerSettings,
    unit: UNITS.controller,
    user: USERS.controller,
  },
  lifecycle: { home: undefined, settings: PLACES.lifecycleSettings, unit: UNITS.lifecycle, user: USERS.lifecycle },
}

/** Settings that describe a service of their own, beside what is installed. */
const NAMING: Record<DoctorRole, readonly string[]> = {
  agent: ['SVC_AGENT_DIR', 'SVC_NODE_ID'],
  controller: ['SVC_DATA_DIR'],
  lifecycle: ['SVC_ANSIBLE_RUNNER_TOKEN', 'SVC_ANSIBLE_RUNNER_TOKEN_FILE'],
}

/** Whether the environment describes a service of this role. */
const isNamed = (role: DoctorRole, env: Env): boolean => NAMING[role].some((name) => env[name])

const WANTED = path.join(PLACES.units, 'multi-user.target.wants')

function isInstalled(role: DoctorRole): boolean {
  const { settings, unit } = INSTALLED[role]
  const places = [settings, path.join(WANTED, unit)]
  return places.some((place) => fs.existsSync(place) || fs.lstatSync(place, { throwIfNoEntry: false }) !== undefined)
}

/** What is on this box, or what the environment describes. @throws UserError when that is nothing */
export function rolesHere(env: Env = process.env): DoctorRole[] {
  const named = DOCTOR_ROLES.filter((role) => isNamed(role, env))
  const roles = named.length > 0 ? named : DOCTOR_ROLES.filter(isInstalled)
  if (roles.length > 0) return roles
  throw misuse(
    `Nothing of Roomtone is installed on this machine. Say what to look at with --role ${DOCTOR_ROLES.join(', ')}, and describe it by the environment.`,
  )
}

/** Whether it is the installed service that is meant. */
export const isInstalledOne = (role: DoctorRole, env: Env = process.env): boolean =>
  isInstalled(role) && !isNamed(role, env)

/**
 * The environment of a service as its unit gives it: what the caller sets comes first, then its file and its credentials.
 * @throws UserError when the caller may not read the file
 */
export function serviceEnv(role: DoctorRole, env: Env = process.env): Env {
  if (!isInstalledOne(role, env)) return env
  const { home, settings } = INSTALLED[role]
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
  const own = { CREDENTIALS_DIRECTORY: PLACES.credentials, ...(home ? { HOME: home } : {}) }
  return { ...own, ...readable(settings), ...given, ...(home ? { HOME: home } : {}) }
}

function readable(file: string): Env {
  try {
    // Whatever the unit gives its service: what captures may need more than our settings.
    return readEnvFile(file, /^/)
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'EACCES') throw e
    throw misuse(`The settings in ${file} cannot be read as this user: run this with sudo.`)
  }
}

/** Whether words may be coloured there: on a terminal that does not refuse it. */
export const mayColour = (to: { isTTY?: boolean }, env: Env = process.env): boolean =>
  to.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'

/** Whether this system has an account of that name. */
export const isUser = (name: string): boolean =>
  fs
    .readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .some((line) => line.startsWith(`${name}:`))
