// The code a person types at a box, where a bootstrap token would be too long.
import * as z from 'zod'
import { ControllerAddress } from './provision.ts'
import { text } from './scalars.ts'

export const PairingCodeRequest = z.object({
  /** Where the box reaches the controller, when it is another address than that of the request or `SVC_PUBLIC_URL`. */
  controllerUrl: ControllerAddress.optional(),
  ttlSeconds: z.number().int().min(60).max(3600).default(600),
})

/** Any short text is taken here: what is no code is refused in the same words as a wrong one. */
export const Pair = z.object({ code: text(1, 64) })

export interface PairingCode {
  code: string
  expiresAt: string
  /** What to type on the new box: the installer asks for the code. Absent when this controller's address is not known. */
  installLine?: string
  nodeId: string
}

export interface Paired {
  expiresAt: string
  nodeId: string
  /** A bootstrap token of that node. */
  token: string
}
