// What a setup stick holds, and what an operator asks for to get one. One small file: no program, nothing to run.
import * as z from 'zod'
import { clientId, instant, text } from './scalars.ts'

/** Name of the file on the stick, on the boot partition or in a directory. */
export const SETUP_FILE = 'roomtone.json'
/** Bytes of the whole file. */
export const SETUP_FILE_MAX = 65_536
/** Label of a file system that a prepared box looks into by itself. */
export const SETUP_LABEL = 'SVC-SETUP'
export const SETUP_NODES_MAX = 64

const mac = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/, 'expected a hardware address such as 00:11:22:aa:bb:cc')

/** How a box knows that an entry is its own; everything that is given must fit. */
export const BoxMatch = z
  .strictObject({
    hostname: text(1, 255).optional(),
    mac: mac.optional(),
    /** Serial number of the machine as its firmware tells it. */
    serial: text(1, 120).optional(),
  })
  .refine((match) => Object.values(match).some(Boolean), 'expected hostname, mac or serial')
export type BoxMatch = z.infer<typeof BoxMatch>

/** Where a box reaches its controller. */
export const ControllerAddress = z
  .string()
  .trim()
  .max(2048)
  // Parsers of addresses pass over line breaks, and a file of settings does not.
  .refine(
    (v) => !/\s/.test(v) && URL.canParse(v) && /^https?:$/.test(new URL(v).protocol),
    'expected an https:// or http:// address',
  )
  .refine((v) => !URL.canParse(v) || new URL(v).username === '', 'must not contain a user name or password')
  .transform((v) => v.replace(/\/+$/, ''))

const certificates = z
  .string()
  .max(32_768)
  .regex(/^-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----\s*$/, 'expected certificates in PEM')

const plainIsSaid = (file: { allowInsecure: boolean; controllerUrl: string }): boolean =>
  file.allowInsecure || file.controllerUrl.startsWith('https:')
const PLAIN = {
  path: ['controllerUrl'],
  message: 'plain http needs "allowInsecure": true, on a network for development',
}

/** What every entry shares: one stick speaks of one controller. */
const shared = {
  allowInsecure: z.boolean().default(false),
  controllerCa: certificates.optional(),
  controllerUrl: ControllerAddress,
  /** Also a box that belongs to a node already is set up anew. */
  replace: z.boolean().default(false),
  /** The stick gets a text file with what happened, and the entry that was taken is struck out. */
  writeBack: z.boolean().default(false),
}

export const SetupEntry = z.strictObject({
  alias: text(1, 160).optional(),
  bootstrapToken: z.string().regex(/^svc_bs_[A-Za-z0-9_-]{43}$/, 'expected a bootstrap token (svc_bs_...)'),
  expiresAt: instant,
  match: BoxMatch.optional(),
  nodeId: clientId,
  room: text(1, 160).optional(),
  site: text(1, 160).optional(),
})
export type SetupEntry = z.infer<typeof SetupEntry>

export const SetupFile = z
  .strictObject({ version: z.literal(1), ...shared, nodes: z.array(SetupEntry).max(SETUP_NODES_MAX) })
  .refine(plainIsSaid, PLAIN)
export type SetupFile = z.infer<typeof SetupFile>

/** A room to enroll a new node for, or a node that exists. */
const WantedNew = z.strictObject({
  alias: text(1, 160),
  /** Default: made from the alias. */
  hostname: text(1, 255).optional(),
  match: BoxMatch.optional(),
  room: text(1, 160),
  site: text(1, 160),
})
const WantedKnown = z.strictObject({ nodeId: clientId, match: BoxMatch.optional() })
export const WantedNode = z.union([WantedKnown, WantedNew])
export type WantedNode = z.infer<typeof WantedNode>

const DAY_SECONDS = 86_400

/** `POST /nodes/bootstrap-config`: enroll what is new, mint for all, answer with the whole file. */
export const BootstrapConfigRequest = z
  .strictObject({
    ...shared,
    nodes: z.array(WantedNode).min(1).max(SETUP_NODES_MAX),
    ttlSeconds: z.number().int().min(1).max(DAY_SECONDS).default(DAY_SECONDS),
  })
  .refine(plainIsSaid, PLAIN)
export type BootstrapConfigRequest = z.infer<typeof BootstrapConfigRequest>
