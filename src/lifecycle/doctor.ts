// The doctor of a lifecycle runner.
import { jsonOf } from '../kernel/http.ts'
import { faultWords } from '../kernel/words.ts'
import { startOrWhy } from '../system/checks/box.rules.ts'
import { programOf } from '../system/checks/box.ts'
import { askController, judgeToken, type Reached, reaching } from '../system/checks/controller.ts'
import { examine, fail, ok, type Probe, skipped } from '../system/checks/examine.ts'
import { goOnAsUser } from '../system/host/owner.ts'
import { PLACES, UNITS, USERS } from '../system/host/places.ts'
import { advice, command, type DoctorReport, type Finding } from '../wire/doctor.ts'
import { API_PREFIX } from '../wire/headers.ts'
import { RUNNER_PATHS } from '../wire/lifecycle.ts'
import { readServerSettings, type ServerSettings } from './config.ts'
import { Vault } from './vault.ts'

type Env = Record<string, string | undefined>

/**
 * Examines the runner with these settings. `asUser`: as root it goes on as the user of the service.
 * @throws UserError for settings that cannot be read or used
 */
export async function examineLifecycle(env: Env, asUser: boolean): Promise<DoctorReport> {
  const settings = readServerSettings(env)
  if (asUser) goOnAsUser(USERS.lifecycle)
  const { controller, run } = settings
  const reached = reachedBy(settings)
  const way = reached && reaching(reached)
  const none = skipped('SVC_RUNNER_CONTROLLER_URL is not set: the keys are those of SVC_ANSIBLE_SSH_KEY_FILE')
  return await examine('lifecycle', {
    'controller.tls': async () => (way ? await way.tls() : none),
    'controller.token': async (signal) => {
      if (!reached || !way) return none
      if (!(await way.answers())) return skipped('No controller answers (controller.tls)')
      return await tokenOf(reached, controller.token, signal)
    },
    'runner.token': (signal) => runnerToken(settings, signal),
    'ssh.client': (signal) =>
      programOf('ssh', ['-V'], { env: run.env, fix: command('sudo apt-get install openssh-client'), signal }),
    'vault.writable': vaultOf(run.vaultDirs),
  })
}

function reachedBy({ controller: { allowInsecure, trust, url } }: ServerSettings): Reached | undefined {
  const names = {
    ca: 'SVC_RUNNER_CONTROLLER_CA',
    file: PLACES.lifecycleSettings,
    insecure: 'SVC_RUNNER_ALLOW_INSECURE',
    unit: UNITS.lifecycle,
    url: 'SVC_RUNNER_CONTROLLER_URL',
  }
  return url === undefined ? undefined : { allowInsecure, names, trust, url }
}

const SAME = advice(
  `Set SVC_RUNNER_TOKEN of the controller and of the runner (/etc/credstore/roomtone.runner-token on each) to the same text, and restart ${UNITS.controller} there. Here:`,
  `sudo systemctl restart ${UNITS.lifecycle}`,
)

/** Asks for the key of a node that cannot be: a token that is good gets 404. */
async function tokenOf(reached: Reached, token: string | undefined, signal: AbortSignal): Promise<Finding> {
  if (token === undefined) return fail('SVC_RUNNER_TOKEN is not set: the controller gives no keys', SAME)
  const path = `${API_PREFIX}/nodes/doctor/ssh-credential/material`
  return judgeToken(await askController(reached, path, { signal, token }), SAME)
}

/** Asks the running runner for nothing: it refuses the token first, and the empty request then. */
async function runnerToken({ host, port, token }: ServerSettings, signal: AbortSignal): Promise<Finding> {
  if (port === 0) return skipped('SVC_ANSIBLE_RUNNER_PORT is 0: at which port the runner listens is not known')
  const here = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  const url = `http://${here}:${port}`
  const way = { allowInsecure: true, names: NONE, trust: {}, url }
  try {
    const { status, text } = await askController(way, RUNNER_PATHS.runs, { body: '{}', method: 'POST', signal, token })
    const { error } = Object(jsonOf(text)) as { error?: unknown }
    if (status === 400 && error === 'unsupported_lifecycle_action')
      return ok('The runner listens and accepts its token')
    if (status === 401)
      return fail(
        'The running runner has another token than the settings',
        command(`sudo systemctl restart ${UNITS.lifecycle}`),
      )
    return fail(
      `What answers at ${url} is no runner (status ${status})`,
      advice('Stop it, or set SVC_ANSIBLE_RUNNER_PORT to another port. Which it is:', 'sudo ss -ltnp'),
    )
  } catch (e) {
    return fail(`The runner does not answer at ${url}: ${faultWords(e, url)}`, startOrWhy(UNITS.lifecycle))
  }
}

const NONE = { ca: '', file: '', insecure: '', unit: '', url: '' }

const vaultOf =
  (dirs: readonly string[]): Probe['look'] =>
  () => {
    try {
      new Vault(dirs).close()
      return ok('Keys of actions have a place that can be written to')
    } catch (e) {
      return fail(
        faultWords(e),
        advice(
          `RuntimeDirectory=roomtone-lifecycle in ${UNITS.lifecycle} makes one in memory, at its start:`,
          `sudo systemctl restart ${UNITS.lifecycle}`,
        ),
      )
    }
  }
