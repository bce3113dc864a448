// What each action does to the box. An action that fails leaves the box in service as it was.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { UserError } from '../../kernel/fail.ts'
import { credentialName } from '../../kernel/settings.ts'
import { version } from '../../kernel/version.ts'
import { MAINTAIN_EXIT, type MaintainRequest } from '../../wire/maintain.ts'
import { writeEnvFile } from '../host/envfile.ts'
import { replaceFile } from '../host/files.ts'
import { PLACES, UNITS, USERS } from '../host/places.ts'
import { run } from '../host/run.ts'
import { link } from '../setup/journal.ts'
import { lastWords, systemctl } from '../setup/system.ts'
import { type Box, programInUse, refuseWhileRecording, settingsOf } from './box.ts'
import { depotOf } from './controller.ts'
import { maintenanceError } from './error.ts'
import { drop, fetchVersion, prune, resolve } from './release.ts'
import { type Change, changeOrRollBack, tried } from './rollback.ts'
import { replace, restart, untilOnline, withAgentHeld } from './service.ts'
import { beginTrial, endTrial } from './trial.ts'
import { installKey, mayTrust, trustCa } from './trust.ts'

type Of<A extends MaintainRequest['action']> = Extract<MaintainRequest, { action: A }>

/**
 * Applies a change, restarts the agent, and rolls back when it does not come online. Meanwhile the agent starts no take,
 * which the rollback would cut. @throws UserError
 */
async function orRollBack(
  box: Box,
  versions: { after: string; before: string },
  force: boolean,
  way: Change & { patienceSeconds: number },
): Promise<void> {
  await withAgentHeld(box, force, (releaseAgent) =>
    changeOrRollBack(box, way, {
      replace,
      restart,
      untilOnline: () => untilOnline(box, versions.after, way.patienceSeconds),
      untilOnlineAgain: () => {
        releaseAgent()
        return untilOnline(box, versions.before, BACK_SECONDS)
      },
    }),
  )
}

/** For the rollback: enough for a slow box. */
const BACK_SECONDS = 120

export async function updateBinary(box: Box, request: Of<'update_binary'>): Promise<void> {
  await refuseWhileRecording(request.force)
  const depot = depotOf(settingsOf(), readToken())
  const next = await resolve(depot, request.agentVersion)
  if (request.publicKey) installKey(request.publicKey)
  if (next === version) return box.say(`${next} is already in use.`)
  await fetchVersion(depot, next, box)
  const [before, after] = [programInUse(), path.join(PLACES.versions, next, 'roomtone')]
  const keep = async () => {
    link(after, PLACES.executable)
    await endTrial()
  }
  const { patienceSeconds } = request
  const back = async () => {
    if (programInUse() !== before) link(before, PLACES.executable)
    await endTrial()
  }
  const way = { back, before: version, keep, on: () => beginTrial(after), patienceSeconds, what: next }
  await orRollBack(box, { after: next, before: version }, request.force, way).catch((e) => {
    // What a box in trouble may still start stays for whoever looks at it.
    const broken = e instanceof UserError && e.exitCode === MAINTAIN_EXIT.broken
    if (!broken && programInUse() !== after) drop(next)
    throw e
  })
  prune([before, after].map(folderOf))
  box.say(`${next} is in service; ${version} is kept for a rollback.`)
}

const folderOf = (program: string): string => path.basename(path.dirname(program))

export async function activateToken(box: Box, request: Of<'activate_token'>): Promise<void> {
  const before = tokenInSettings()
  const way = {
    back: async () => putToken(before),
    before: 'the old token',
    on: async () => putToken(request.controllerToken),
    patienceSeconds: request.patienceSeconds,
    what: 'the new token',
  }
  await orRollBack(box, { after: version, before: version }, request.force, way)
  box.say('The new token is in use.')
}

export async function restartService(box: Box, request: Of<'restart_service'>): Promise<void> {
  await withAgentHeld(box, request.force, async (releaseAgent) => {
    await systemctl('daemon-reload')
    await systemctl('enable', '--quiet', UNITS.agent)
    const fault = await tried(restart, () => {
      releaseAgent()
      return untilOnline(box, version, request.patienceSeconds)
    })
    if (fault) throw maintenanceError('failed', `The agent was started, but ${fault.words}.`)
  })
  box.say(`The agent ${version} is online.`)
}

export async function rotateTrust(box: Box, request: Of<'rotate_trust'>): Promise<void> {
  if (request.controllerCa) await mayTrust(request.controllerCa)
  installKey(request.publicKey)
  box.say('The key of the controller is installed.')
  if (!request.controllerCa) return
  const read = trustCa(request.controllerCa)
  box.say(`The certificate authority is installed; the agent uses it from its next ${read ? 'connection' : 'start'}.`)
}

/** Fixed, whatever the caller's environment. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** As the agent's user, with the agent's settings, without its token. */
export async function smokeCheck(box: Box): Promise<void> {
  const { SVC_CONTROLLER_TOKEN: _, ...settings } = settingsOf()
  const args = ['-u', USERS.agent, '--', PLACES.executable, 'agent', '--print-inventory']
  const env = { HOME: PLACES.agentHome, PATH, ...settings }
  const ended = await run('runuser', args, { cwd: PLACES.agentHome, env, timeoutMs: 60_000 })
  box.say(ended.stdout.trimEnd())
  if (ended.code !== 0) throw maintenanceError('failed', `roomtone agent --print-inventory failed: ${lastWords(ended)}`)
}

// The node's token: in the settings, in a file they name, or a credential of the service.

const SETTING = 'SVC_CONTROLLER_TOKEN'
const CREDENTIAL = path.join('/etc/credstore', credentialName(SETTING))
const READABLE_BY_GROUP = 0o640

const content = (file: string): string | undefined =>
  fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim() || undefined : undefined

/** The token the agent uses: settings take precedence over the credential. Undefined when this box has none. */
function readToken(): string | undefined {
  const { [SETTING]: token, [`${SETTING}_FILE`]: file } = settingsOf()
  return token ?? content(file ?? CREDENTIAL)
}

/** The token in the settings or their file, to be restored; undefined: there is none, or a credential. */
function tokenInSettings(): string | undefined {
  const { [SETTING]: token, [`${SETTING}_FILE`]: file } = settingsOf()
  return file === undefined ? token : content(file)
}

/**
 * Writes it where the old one is. A credential stays, and is used again without this token. What is there already needs no
 * room on the disk.
 */
function putToken(token: string | undefined): void {
  if (token === tokenInSettings()) return
  const file = settingsOf()[`${SETTING}_FILE`]
  if (file === undefined) writeEnvFile(PLACES.agentSettings, { [SETTING]: token })
  else replaceFile(file, token === undefined ? '' : `${token}\n`, READABLE_BY_GROUP)
}
