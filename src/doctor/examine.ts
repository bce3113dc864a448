// Examines the roles of this box: one within this program, several each in a program of its own, for each has its own user.
import { UserError } from '../kernel/fail.ts'
import { jsonOf } from '../kernel/http.ts'
import { goOnAsOwnerOf, goOnAsUser, ownArguments } from '../system/host/owner.ts'
import { run } from '../system/host/run.ts'
import { advice, DoctorReport, type DoctorRole, fitted } from '../wire/doctor.ts'
import { INSTALLED, isInstalledOne, isUser, serviceEnv } from './config.ts'

/** Longer than any examination takes. */
const LONGEST_MS = 30_000
const MOST_OUTPUT = 256 * 1024

/**
 * The report of one role. As root this program goes on as the user of the service (it is started again).
 * @throws UserError when the settings may not be read
 */
export async function examineHere(role: DoctorRole): Promise<DoctorReport> {
  const env = serviceEnv(role)
  try {
    return await EXAMINERS[role](env)
  } catch (e) {
    if (!(e instanceof UserError)) throw e
    return unusable(role, e.message)
  }
}

type Env = Record<string, string | undefined>

const EXAMINERS: Record<DoctorRole, (env: Env) => Promise<DoctorReport>> = {
  async agent(env) {
    const installed = isInstalledOne('agent')
    const { home, settings, user } = INSTALLED.agent
    if (installed && isUser(user)) goOnAsUser(user)
    else if (env.SVC_AGENT_DIR) goOnAsOwnerOf(env.SVC_AGENT_DIR)
    // Where its unit starts it: relative paths of its settings begin there.
    if (installed && home) process.chdir(home)
    const { examineBeside } = await import('../agent/doctor/beside.ts')
    return await examineBeside(env, installed ? settings : undefined)
  },
  async controller() {
    const { examineController } = await import('../controller/cli/doctor/doctor.ts')
    return await examineController(isUser)
  },
  async lifecycle(env) {
    const { examineLifecycle } = await import('../lifecycle/doctor.ts')
    return await examineLifecycle(env, isInstalledOne('lifecycle') && isUser(INSTALLED.lifecycle.user))
  },
}

/** The same in a program of its own. */
export async function examineApart(role: DoctorRole): Promise<DoctorReport> {
  const args = [...ownArguments(), 'doctor', '--json', '--role', role]
  const { stderr, stdout } = await run(process.execPath, args, { maxOutput: MOST_OUTPUT, timeoutMs: LONGEST_MS })
  const report = DoctorReport.safeParse(jsonOf(stdout))
  return (
    report.data ?? unusable(role, stderr.trim().replace(/^roomtone doctor: /, '') || 'The doctor did not end in time')
  )
}

/** With such settings the service does not start either. */
function unusable(role: DoctorRole, words: string): DoctorReport {
  const { settings, unit } = INSTALLED[role]
  const finding = fitted({
    fix: advice(
      `Mend it in ${settings} (roomtone ${role} --help tells what each setting takes). Then:`,
      `sudo systemctl restart ${unit}`,
    ),
    message: words,
    status: 'fail',
  })
  return { checks: [{ id: 'settings', ...finding }], ok: false, role }
}
