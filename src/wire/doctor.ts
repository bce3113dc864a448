// What `roomtone doctor` finds on a box, as it prints it and as a recorder sends it.
import * as z from 'zod'
import { onOneLine, text, toldText } from './scalars.ts'

/** The checks of each kind of box, in the order in which they are shown. */
export const CHECKS = {
  agent: [
    ...['device.present', 'device.opens', 'device.level', 'ffmpeg', 'disk.space', 'disk.sync', 'clock.synced'],
    ...['controller.resolve', 'controller.tls', 'controller.token', 'service.unit', 'version.newer', 'takes.waiting'],
    ...['ssh.key', 'controller.pair'],
  ],
  controller: [
    ...['database.integrity', 'database.writable', 'disk.space', 'disk.sync', 'key.matches', 'tls.expiry'],
    ...['clock.synced', 'runners.alive', 'nodes.offline', 'uploads.stuck', 'backup.age', 'smbclient', 'ffmpeg'],
    ...['notifications.rules', 'notifications.channels', 'notifications.links'],
    ...['pair.lease', 'pair.other', 'pair.copy'],
  ],
  lifecycle: ['ssh.client', 'controller.tls', 'controller.token', 'runner.token', 'vault.writable'],
} as const satisfies Record<string, readonly string[]>

export type DoctorRole = keyof typeof CHECKS
export const DOCTOR_ROLES = Object.keys(CHECKS) as DoctorRole[]

const CHECK_STATUSES = ['ok', 'warn', 'fail', 'skipped'] as const
export type CheckStatus = (typeof CHECK_STATUSES)[number]

const MAX_MESSAGE = 600
const MAX_FIX = 1000
/** Bytes of a report on its way to the controller: more than the longest one. */
export const DOCTOR_REPORT_BYTES = 128 * 1024

const fixText = z
  .string()
  .overwrite((lines) => lines.split('\n').map(onOneLine).join('\n'))
  .trim()
  .min(1)
  .max(MAX_FIX)
  .brand<'Fix'>()
/** What to do: words, a command that can be pasted as it is, or words and the command they lead to on a line of its own. */
export type Fix = z.infer<typeof fixText>

/** A command for this machine that can be pasted as it is. */
export const command = (line: string): Fix => line as Fix
/** Words, and the command for this machine that they lead to. */
export const advice = (words: string, line?: string): Fix => (line === undefined ? words : `${words}\n${line}`) as Fix

const Finding = z.strictObject({
  fix: fixText.optional(),
  message: toldText(1, MAX_MESSAGE),
  status: z.enum(CHECK_STATUSES),
})
/** How one check ended. */
export type Finding = z.infer<typeof Finding>

// A newer recorder may know checks that this controller does not.
const Check = z.strictObject({ id: z.string().regex(/^[a-z]{1,40}(\.[a-z]{1,40})?$/), ...Finding.shape })
export type Check = z.infer<typeof Check>

const report = {
  checks: z.array(Check).min(1).max(64),
  /** Nothing fails; warnings do not count. */
  ok: z.boolean(),
}
export const DoctorReport = z
  .strictObject({ ...report, role: z.enum(DOCTOR_ROLES) })
  .refine(({ checks, ok }) => ok === checks.every(({ status }) => status !== 'fail'), 'ok is not what the checks say')
export type DoctorReport = z.infer<typeof DoctorReport>

/** What a running agent tells the doctor of its devices, as it cannot be looked at beside it. */
export const DeviceFindings = z.object({ level: Finding, opens: Finding })
export type DeviceFindings = z.infer<typeof DeviceFindings>

/** A recorder's answer to `doctor.requestId` of its configuration. */
export const NodeDoctorReport = z.strictObject({ report: DoctorReport, requestId: text(1, 160) })

/** `last`: the report that was made before, and none is asked for. */
export const NodeDoctorQuery = z.object({
  last: z
    .enum(['0', '1'])
    .optional()
    .transform((given) => given === '1'),
})

export interface NodeDoctor extends DoctorReport {
  /** By the controller's clock. */
  madeAt: string
  nodeId: string
}

const cut = (words: string, most: number): string => (words.length > most ? `${words.slice(0, most - 1)}…` : words)

/** A finding that fits, whatever was quoted in it. */
export const fitted = ({ fix, message, status }: Finding): Finding => ({
  ...(fix === undefined ? {} : { fix: cut(fix, MAX_FIX) as Fix }),
  message: cut(message, MAX_MESSAGE),
  status,
})
