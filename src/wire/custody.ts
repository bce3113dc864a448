// Takes that a recorder keeps although the controller has them (docs/contract/agent.md: Custody).
import * as z from 'zod'
import { clientId } from './scalars.ts'

export const CUSTODY_MODES = ['controller', 'replicated'] as const

/** How many takes one heartbeat asks about. */
export const MOST_ASKED = 16

/** Ids of recordings whose takes are kept. What cannot be read is not answered: the heartbeat counts all the same. */
export const Kept = z.array(clientId).max(MOST_ASKED).optional().catch(undefined)

/** What becomes of a kept take: it stays, it may go, or it is to be delivered again. */
export const CUSTODY = ['hold', 'let_go', 'offer'] as const
export type Custody = (typeof CUSTODY)[number]

/** A sealed note is what a recording is, a few hundred characters; with the widest channel map and its labels, 110,000. */
const LONGEST_NOTE = 131_072

/** A take of a recording that the controller may not know: the note is what an earlier one gave with the job. */
export const Offer = z.strictObject({ note: z.string().min(1).max(LONGEST_NOTE) })
export type Offer = z.infer<typeof Offer>
