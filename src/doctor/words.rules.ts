// The doctor's reports for people.
import type { Check, CheckStatus, DoctorReport, DoctorRole } from '../wire/doctor.ts'

const ROLES: Record<DoctorRole, string> = {
  agent: 'Recorder',
  controller: 'Controller',
  lifecycle: 'Lifecycle runner',
}

/** What a check is about, by the beginning of its id; what is not here is about the machine. */
const GROUPS: [of: RegExp, title: string][] = [
  [/^settings/, 'Settings'],
  [/^device\./, 'Sound'],
  [/^(database|key)\b/, 'Data'],
  [/^controller\./, 'The way to the controller'],
  [/^(takes|uploads|nodes|backup|runners|tls)\./, 'Work'],
  [/^(runner|vault|ssh)\./, 'Maintenance'],
  [/^notifications\./, 'Who is told'],
]
const MACHINE = 'This machine'

const SIGNS: Record<CheckStatus, string> = { fail: 'FAIL', ok: 'ok', skipped: 'skipped', warn: 'WARN' }
const COLOURS: Record<CheckStatus, string> = { fail: '31;1', ok: '32', skipped: '2', warn: '33;1' }
const SIGN_WIDTH = 8
const ID_WIDTH = 22

/** Paints a word with an SGR sequence; without colours it stays plain. */
type Paint = (words: string, sgr: string) => string
const painter = (colours: boolean): Paint =>
  colours ? (words, sgr) => `\u001b[${sgr}m${words}\u001b[0m` : (words) => words

const groupOf = ({ id }: Check): string => GROUPS.find(([of]) => of.test(id))?.[1] ?? MACHINE

function lineOf({ fix, id, message, status }: Check, paint: Paint): string {
  const sign = `${paint(SIGNS[status], COLOURS[status])}${' '.repeat(SIGN_WIDTH - SIGNS[status].length)}`
  const line = `  ${sign}${id.padEnd(ID_WIDTH)} ${message}\n`
  const mended = status === 'fail' || status === 'warn' ? fix : undefined
  if (mended === undefined) return line
  // A command stands alone on its line: it is copied as a whole.
  const margin = ' '.repeat(SIGN_WIDTH + 2)
  const lines = mended.split('\n').map((one, n) => `${margin}${n === 0 ? 'fix: ' : '     '}${one}\n`)
  return `${line}${lines.join('')}`
}

const counted = (checks: readonly Check[], status: CheckStatus): number =>
  checks.filter((check) => check.status === status).length

function summary({ checks, ok }: DoctorReport): string {
  const [failing, warnings, left] = [counted(checks, 'fail'), counted(checks, 'warn'), counted(checks, 'skipped')]
  const skipped = left > 0 ? `, ${left} skipped` : ''
  if (!ok) return `${failing} of ${checks.length} checks fail${warnings > 0 ? `, ${warnings} warn` : ''}${skipped}.`
  return warnings > 0
    ? `Nothing fails; ${warnings} of ${checks.length} checks warn${skipped}.`
    : `All is well${skipped}.`
}

/** One line for each check, in groups, with what to do beneath what is not well. */
export function reportText(report: DoctorReport, version: string, colours: boolean): string {
  const paint = painter(colours)
  const groups = Map.groupBy(report.checks, groupOf)
  const parts = [...groups].map(
    ([title, checks]) => `${title}\n${checks.map((check) => lineOf(check, paint)).join('')}`,
  )
  const title = paint(`${ROLES[report.role]}, roomtone ${version}`, '1')
  return `${title}\n\n${parts.join('\n')}\n${summary(report)}\n`
}
