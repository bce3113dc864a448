import * as z from 'zod'
import { clientId, someField, text } from './scalars.ts'

const SWITCHER_MODES = ['disabled', 'observe', 'enforce'] as const
export type SwitcherMode = (typeof SWITCHER_MODES)[number]
const SWITCHER_MODELS = ['avpro-ac-max'] as const
export type SwitcherModel = (typeof SWITCHER_MODELS)[number]

const host = text(1, 255).regex(/^[A-Za-z0-9._:%-]+$/, 'expected a host name or an address')
const port = z.int().min(1).max(65_535)
const changeable = {
  displayName: text(1, 160),
  enabled: z.boolean(),
  host,
  mode: z.enum(SWITCHER_MODES),
  port,
}
const password = z.string().max(255)

export const SwitcherInput = z.strictObject({
  displayName: changeable.displayName,
  enabled: changeable.enabled.default(true),
  host,
  id: clientId.optional(),
  mode: changeable.mode.default('observe'),
  model: z.enum(SWITCHER_MODELS).default('avpro-ac-max'),
  password: password.optional(),
  port: port.default(23),
  username: text(0, 120).optional(),
})
export type SwitcherInput = z.infer<typeof SwitcherInput>

/** An empty password and a null user name clear them. */
export const SwitcherPatch = z
  .strictObject({ ...changeable, password, username: text(0, 120).nullable() })
  .partial()
  .refine(someField, 'At least one switcher field is required')
export type SwitcherPatch = z.infer<typeof SwitcherPatch>

const place = z.int().min(1).max(256)
const id = text(1, 160)
export const SwitcherMappings = z.strictObject({
  inputs: z.array(z.strictObject({ input: place, roomId: id })).max(256),
  outputs: z.array(z.strictObject({ output: place, userId: id })).max(256),
})
export type SwitcherMappings = z.infer<typeof SwitcherMappings>

export const SwitcherRestore = z.strictObject({ snapshot: z.string().min(1).max(200_000) })

export interface Switcher {
  createdAt: string
  displayName: string
  enabled: boolean
  hasPassword: boolean
  host: string
  id: string
  inputs: number
  mode: SwitcherMode
  model: SwitcherModel
  outputs: number
  port: number
  updatedAt: string
  username?: string
}

export interface MappedInput {
  input: number
  roomId: string
  roomName?: string
}
export interface MappedOutput {
  output: number
  userEmail?: string
  userId: string
  userName?: string
}

/** What a connection test found; `message` is a reason when it is not `ok`. */
export interface SwitcherTest {
  firmware?: string
  message?: string
  model: SwitcherModel
  ok: boolean
  reachable: boolean
  routeCount?: number
}
