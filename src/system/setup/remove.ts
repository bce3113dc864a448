// Removes Roomtone from the box. Audio that exists nowhere else is kept unless it is purged.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { UserError } from '../../kernel/fail.ts'
import { PLACES, UNITS, USERS } from '../host/places.ts'
import { heldTakes } from '../host/takes.ts'
import { removeGroup, removeUser } from './accounts.ts'
import { FIRST_PASSWORD } from './controller.ts'
import { credentialFiles } from './credentials.ts'
import { exclusively, JOURNAL_DIR, takeBackUnfinished } from './engine.ts'
import { stands } from './journal.ts'
import type { Removal, Role, SetupDone, SetupParts } from './options.ts'
import { removeOwnPackage } from './packages.ts'
import { known, packaged, systemctl, unitState } from './system.ts'

interface Trace {
  /** Besides the files of the units. */
  files: string[]
  /** Settings, keys and state: what only a purge removes. */
  purged: string[]
  units: string[]
  user: string
}

const TRACES: Record<Role, Trace> = {
  agent: {
    files: [PLACES.sudoers],
    purged: [
      PLACES.agentSettings,
      PLACES.provisionSettings,
      PLACES.controllerCa,
      PLACES.agentHome,
      PLACES.agentLogin,
      PLACES.setupStatus,
    ],
    units: [UNITS.agent, UNITS.agentRefresh, UNITS.setup, UNITS.setupBoot],
    user: USERS.agent,
  },
  controller: {
    files: [],
    purged: [FIRST_PASSWORD, PLACES.controllerSettings, PLACES.tls, PLACES.controllerHome],
    units: [UNITS.controller, UNITS.tlsRenewTimer, UNITS.tlsRenew],
    user: USERS.controller,
  },
  lifecycle: {
    files: [],
    purged: [PLACES.lifecycleSettings, PLACES.lifecycleCa],
    units: [UNITS.lifecycle],
    user: USERS.lifecycle,
  },
}
export const ROLES = Object.keys(TRACES) as Role[]

/** Shared by all roles. The program goes last, so that the command can be run again after an interruption. */
const SHARED = {
  programs: [PLACES.command, PLACES.programs],
  purged: [PLACES.settings, path.dirname(PLACES.agentHome), JOURNAL_DIR],
}

const ofPackage = (): boolean => ROLES.some((role) => packaged(UNITS[role]))

/** A package installs the units of all roles: only an active or enabled one is in use. */
async function inUse(role: Role): Promise<boolean> {
  if (!ofPackage()) return known(UNITS[role])
  const { active, enabled } = await unitState(UNITS[role])
  return active || enabled
}

/** Whether these are all roles the box has. */
async function isAll(roles: readonly Role[]): Promise<boolean> {
  const others = await Promise.all(ROLES.filter((role) => !roles.includes(role)).map(inUse))
  return !others.includes(true)
}

/**
 * Removing the recorder, or purging the last other role, deletes undelivered takes; only purging the recorder itself may.
 * @throws UserError while there are any
 */
function refuseToLoseTakes(roles: readonly Role[], purge: boolean, all: boolean): void {
  const meant = roles.includes('agent') && purge
  const touched = roles.includes('agent') || (purge && all)
  if (meant || !touched) return
  const { running, undelivered } = heldTakes()
  if (running > 0) throw new UserError('this box is recording: wait until the recording has ended')
  if (undelivered > 0)
    throw new UserError(
      `this box holds ${undelivered} take(s) that the controller does not have: let the agent upload them first, or discard them with --purge`,
    )
}

async function stopUnits(units: string[]): Promise<string[]> {
  const there = units.filter(known)
  for (const unit of there) {
    const { active, enabled } = await unitState(unit)
    if (active) await systemctl('stop', unit)
    if (enabled) await systemctl('disable', '--quiet', unit)
  }
  return there
}

function removePaths(files: readonly string[]): string[] {
  const there = files.filter(stands)
  for (const file of there) fs.rmSync(file, { force: true, recursive: true })
  return there
}

async function removeAccount(name: string): Promise<string[]> {
  const there = await removeUser(name)
  await removeGroup(name)
  return there ? [`user ${name}`] : []
}

/** The credentials directory is shared with other services. */
function removeIfEmpty(dir: string): void {
  if (stands(dir) && fs.readdirSync(dir).length === 0) fs.rmdirSync(dir)
}

async function removeRole({ files, purged, units, user }: Trace, purge: boolean): Promise<string[]> {
  const changed = await stopUnits(units)
  const packages = ofPackage()
  // Units of an earlier installer hide those of the package; its other files were replaced by the package.
  changed.push(...removePaths([...units.map((unit) => path.join(PLACES.units, unit)), ...(packages ? [] : files)]))
  if (!purge) return changed
  changed.push(...removePaths(purged))
  removeIfEmpty(PLACES.credentials)
  return packages ? changed : [...changed, ...(await removeAccount(user))]
}

/**
 * Stops and removes services, program and sudo rule; with `purge` also settings, keys, state, recordings and users. Keeps
 * what other roles of the box need, and system packages. Can be run again after an interruption.
 * @throws UserError where a take would be lost
 */
export const removeAll = ({ purge, roles = ROLES }: Removal, parts: SetupParts): Promise<SetupDone> =>
  exclusively(async () => {
    const all = await isAll(roles)
    refuseToLoseTakes(roles, purge, all)
    await takeBackUnfinished(parts)
    const changed: string[] = []
    for (const role of roles) changed.push(...(await removeRole(TRACES[role], purge)))
    if (all && ofPackage()) changed.push(await removeOwnPackage(purge))
    if (all) changed.push(...(await removeShared(purge)))
    if (changed.length > 0) await systemctl('daemon-reload')
    return { changed }
  })

/** With the last role. sysusers.d creates all users on every box, and two roles may share a secret. */
async function removeShared(purge: boolean): Promise<string[]> {
  const changed: string[] = []
  if (purge) {
    for (const user of Object.values(USERS)) changed.push(...(await removeAccount(user)))
    changed.push(...removePaths([...SHARED.purged, ...credentialFiles()]))
    removeIfEmpty(PLACES.credentials)
  }
  return [...changed, ...removePaths(SHARED.programs)]
}
