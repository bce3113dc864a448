// roomtone doctor: what is wrong on this box, and what to do about it.
import { parseArgs } from 'node:util'
import { misuse } from '../kernel/fail.ts'
import { version } from '../kernel/version.ts'
import { DOCTOR_ROLES, type DoctorReport, type DoctorRole } from '../wire/doctor.ts'
import { mayColour, rolesHere } from './config.ts'
import { examineApart, examineHere } from './examine.ts'
import { reportText } from './words.rules.ts'

const HELP = `usage: roomtone doctor [--json] [--role ${DOCTOR_ROLES.join('|')}]

Looks at everything this box needs for its work and says what is wrong and what to do about it. Changes nothing, and
disturbs no take. Which role the box has it finds by itself; --role looks at that one alone.

Run it with sudo: it continues as the user of the service, with the settings of the service. For another recorder or
controller than the installed one set its environment (SVC_AGENT_DIR and SVC_NODE_ID, or SVC_DATA_DIR).

  --json   the same as JSON: {ok, role, checks: [{id, status, message, fix}]}; a box with several roles has the others
           in "also"

Exit code 0: nothing fails (warnings do not count). 1: something fails. 2: wrong usage, or the settings may not be read.
`

const OPTIONS = { help: { short: 'h', type: 'boolean' }, json: { type: 'boolean' }, role: { type: 'string' } } as const

/** Resolves to the exit code. @throws UserError for wrong usage */
export async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: OPTIONS })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  const reports = await examined(roleOf(values.role))
  if (values.json) process.stdout.write(`${JSON.stringify(together(reports))}\n`)
  else process.stdout.write(reports.map((report) => reportText(report, version, mayColour(process.stdout))).join('\n'))
  return reports.every(({ ok }) => ok) ? 0 : 1
}

function roleOf(given: string | undefined): DoctorRole | undefined {
  const role = DOCTOR_ROLES.find((known) => known === given)
  if (given !== undefined && !role) throw misuse(`--role is one of ${DOCTOR_ROLES.join(', ')}, not "${given}"`)
  return role
}

async function examined(role: DoctorRole | undefined): Promise<DoctorReport[]> {
  const roles = role === undefined ? rolesHere() : [role]
  const [only, ...more] = roles as [DoctorRole, ...DoctorRole[]]
  return more.length === 0 ? [await examineHere(only)] : await Promise.all(roles.map(examineApart))
}

/** One object, whatever the box is: the first role, and the others beside it. */
function together([first, ...also]: DoctorReport[]): object {
  if (also.length === 0) return first as DoctorReport
  return { ...first, also, ok: [first, ...also].every((report) => report?.ok) }
}
