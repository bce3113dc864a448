// What the lifecycle runner asks of `roomtone maintain` on a node: one line of JSON on its standard input, once per session.
import * as z from 'zod'
import { text } from './scalars.ts'
import { publicKeyLine } from './sshkeys.ts'

/** Bytes of the whole line. */
export const MAINTAIN_LINE_MAX = 65_536

/** A release tag, or the version in it; also a name of files and directories, so nothing that climbs or reads as an option. */
const version = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,79}$/, 'expected a release tag, or latest')
const token = z.string().regex(/^[\x21-\x7e]{1,4096}$/, 'expected one word of printable characters')
const certificates = z
  .string()
  .max(48_000)
  .regex(/-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/, 'expected certificates in PEM')

/** Refused when the box is set up as another node: addresses move, and a key that fits two boxes proves nothing. */
const whose = { nodeId: text(1, 160).optional() }
/** The key the controller holds for this node; it replaces the line that has the same comment. */
const key = { publicKey: publicKeyLine.optional() }
/** Without it, nothing that stops the agent is done while it records. */
const force = { force: z.boolean().default(false) }
/** Seconds the agent has, once started, until the controller hears it. */
const online = { ...force, patienceSeconds: z.number().int().min(1).max(600).default(60) }

/**
 * Per action what it may carry. The two that mint (`MINTING_ACTIONS`) are two sessions: first the action itself, and when
 * that ended with 0, `activate_token` with the token minted in between. A failed deploy never sees a token.
 */
export const MaintainRequest = z.discriminatedUnion('action', [
  /** Packages, users, directories, units, sudoers, settings as given; then a restart. The token comes after it. */
  z.strictObject({
    action: z.literal('install_dependencies'),
    ...whose,
    ...key,
    ...force,
    controllerCa: certificates.optional(),
    controllerUrl: z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .optional(),
  }),
  /** From the controller, checked, in service and online, or the old version again. Default: the newest. */
  z.strictObject({
    action: z.literal('update_binary'),
    ...whose,
    ...key,
    ...online,
    agentVersion: version.default('latest'),
  }),
  /** The token into the settings, a restart, online with it; otherwise the old token again. */
  z.strictObject({ action: z.literal('activate_token'), ...whose, ...online, controllerToken: token }),
  z.strictObject({ action: z.literal('restart_service'), ...whose, ...online }),
  /** Touches no service: works while a take runs. */
  z.strictObject({
    action: z.literal('rotate_trust'),
    ...whose,
    publicKey: publicKeyLine,
    controllerCa: certificates.optional(),
  }),
  z.strictObject({ action: z.literal('smoke_check'), ...whose }),
  /** Not while takes are there that nobody else has; who wants to lose them says so on the box. */
  z.strictObject({ action: z.literal('uninstall'), ...whose }),
])
export type MaintainRequest = z.infer<typeof MaintainRequest>
/** As it is written on the line: what has a default may be left out. */
export type MaintainLine = z.input<typeof MaintainRequest>

/** What `roomtone maintain` ends with; 255 is ssh's own, and anything else is a failure of sudo or of the shell. */
export const MAINTAIN_EXIT = {
  done: 0,
  /** The node is in service as it was before; the last line on stderr says why. */
  failed: 1,
  /** The request was not understood, or is for another node; nothing was touched. */
  misused: 2,
  /** Takes run or are being finished; nothing was touched. Again later, or with `force`. */
  recording: 3,
  /** Another maintenance holds the lock; nothing was touched. */
  locked: 4,
  /** Not root, or no agent is installed on this box; nothing was touched. */
  refused: 5,
  /** Failed, and what was before could not be put back: somebody must look at the box. */
  broken: 6,
} as const
