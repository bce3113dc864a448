// Puts the parts of a support file together: everything goes through the same hiding.
import * as os from 'node:os'
import * as path from 'node:path'
import { PLACES } from '../system/host/places.ts'
import type { DoctorRole } from '../wire/doctor.ts'
import { INSTALLED, isInstalledOne, serviceEnv } from './config.ts'
import { examineApart } from './examine.ts'
import { contents, credentialFiles, JOURNAL_BYTES, journals, machine, type Part, versions } from './gather.ts'
import { type Named, NameHider, withoutSecrets } from './hide.rules.ts'
import { secretFiles, secretValues, settingsText } from './settings.rules.ts'

type Env = Record<string, string | undefined>

interface RoleFacts {
  env: Env
  named: Named[]
  role: DoctorRole
  secrets: string[]
  settingNames: readonly string[]
  /** Every name that may be in a journal is known. */
  whole: boolean
}

const ABOUT = `What is in this archive, for whoever helps with Roomtone:

doctor-*.json    what "roomtone doctor" found, by role
journal-*.log    the journal of the services: the last 24 hours, at most 5 MiB of each
machine.txt      disks, clock, sound cards, network and services
names.txt        which word stands for which id
settings-*.txt   the settings, without secrets
versions.txt     of Roomtone, the system and the programs it uses

Keys, tokens, passwords and e-mail addresses were replaced. Names of recorders, rooms, sites, schedules, recordings and
people stand as recorder-1, room-1 and so on, the same everywhere; ids are as they are.
`

/** What Roomtone starts, and what it stands on. */
const PACKAGES = 'alsa-utils ffmpeg jackd2 openssh-client pipewire smbclient systemd systemd-timesyncd'.split(' ')

const NO_JOURNAL = `The journal of the controller is left out: the names it may hold could not be read from its database, which is damaged.
`

/** Reads what has to be hidden on this box. @throws UserError when the settings may not be read */
async function factsOf(role: DoctorRole): Promise<RoleFacts> {
  const env = serviceEnv(role)
  const { names, secrets, settingNames, whole } = await KNOWN[role](env)
  const own = names.map(({ id, kind, name }) => ({ kind, name, ...(id ? { id } : {}) }) as Named)
  const person = env.SVC_LOCAL_ADMIN_NAME
  return {
    env,
    named: [...own, ...(person ? [{ kind: 'person' as const, name: person }] : [])],
    role,
    secrets: [...secrets, ...secretValues(env), ...contents(secretFiles(env))],
    settingNames,
    whole,
  }
}

interface Known {
  names: readonly { id?: string | null; kind: Named['kind']; name: string }[]
  secrets: readonly string[]
  settingNames: readonly string[]
  whole: boolean
}

const KNOWN: Record<DoctorRole, (env: Env) => Promise<Known>> = {
  async agent(env) {
    const { agentNames, settingNames } = await import('../agent/doctor/support.ts')
    const home = isInstalledOne('agent') ? PLACES.agentHome : ''
    const names = agentNames(env, path.resolve(home, env.SVC_AGENT_DIR ?? 'data/agent'))
    return { names, secrets: [], settingNames, whole: true }
  },
  async controller() {
    const { controllerNames, controllerSecrets, settingNames } = await import('../controller/cli/doctor/support.ts')
    return { ...controllerNames(), secrets: controllerSecrets(), settingNames }
  },
  async lifecycle() {
    const { ALL_SETTINGS } = await import('../lifecycle/config.ts')
    return { names: [], secrets: [], settingNames: Object.keys(ALL_SETTINGS), whole: true }
  },
}

/** Everything of a support file, with nothing in it that has to stay. @throws UserError when the settings may not be read */
export async function packed(roles: readonly DoctorRole[]): Promise<Part[]> {
  const facts = await Promise.all(roles.map(factsOf))
  const secrets = [...facts.flatMap((one) => one.secrets), ...contents(credentialFiles())]
  const own: Named = { kind: 'host', name: os.hostname() }
  const hider = new NameHider([...facts.flatMap(({ named }) => named), own])
  const found = await Promise.all([
    ...roles.map(async (role) => ({
      name: `doctor-${role}.json`,
      text: `${JSON.stringify(await examineApart(role), null, 2)}\n`,
    })),
    versions(PACKAGES),
    machine(roles),
  ])
  const settings = facts.map(({ env, role, settingNames }) => ({
    name: `settings-${role}.txt`,
    text: `# ${isInstalledOne(role) ? INSTALLED[role].settings : 'environment'}\n${settingsText(env, settingNames)}`,
  }))
  const told = facts.filter(({ whole }) => whole).map(({ role }) => role)
  const logs = await journals(told)
  const parts = [...found, ...settings, ...logs].map(({ name, text }) => ({
    name,
    text: bounded(hider.hidden(withoutSecrets(text, secrets))),
  }))
  const about = told.length < roles.length ? `${ABOUT}\n${NO_JOURNAL}` : ABOUT
  const table = hider.table === '' ? [] : [{ name: 'names.txt', text: hider.table }]
  return [{ name: 'about.txt', text: about }, ...parts, ...table]
}

/** The end of a text that grew when words took the place of names. */
function bounded(text: string): string {
  if (Buffer.byteLength(text) <= JOURNAL_BYTES) return text
  const end = Buffer.from(text).subarray(-JOURNAL_BYTES).toString('utf8')
  return end.slice(end.indexOf('\n') + 1)
}
