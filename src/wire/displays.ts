import * as z from 'zod'
import { instant, text } from './scalars.ts'

/** A link that opens the wall of a site, or of some rooms. */
export const DisplayLinkInput = z
  .strictObject({
    expiresAt: instant.optional(),
    name: text(1, 120),
    roomIds: z
      .array(text(1, 160))
      .min(1)
      .max(200)
      .transform((ids) => [...new Set(ids)])
      .optional(),
    site: text(1, 120)
      .refine((site) => site !== '*', 'name one site')
      .optional(),
  })
  .refine(({ roomIds, site }) => (roomIds === undefined) !== (site === undefined), {
    error: 'name either a site or rooms',
    path: ['site'],
  })
export type DisplayLinkInput = z.infer<typeof DisplayLinkInput>

/** What the link holds, for the session of a screen. */
export const DisplaySession = z.strictObject({ token: text(1, 200) })

export interface DisplayLink {
  createdAt: string
  createdBy: string
  expiresAt?: string
  id: string
  lastUsedAt?: string
  name: string
  roomIds: string[]
  /** Browsers it has opened. */
  screens: number
  site?: string
}

/** What a screen on a wall shows beside the levels. */
export interface Wall {
  name: string
  /** At most 200; `total` says of how many. */
  nodes: WallNode[]
  site: { name: string; timezone: string }
  total: number
  /** Of the controller: a screen that has another loads the page anew. */
  version: string
}
export interface WallNode {
  alias: string
  devices: { channels: { alias: string; index: number }[]; id: string }[]
  id: string
  room: string
  status: string
}
