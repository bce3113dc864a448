// The lease in the bucket: which of two boxes is the controller (ADR-0045). Never a secret in it.
import * as z from 'zod'
import { text } from './scalars.ts'

/** No two boxes change hands that often: a higher one was never written by one of them. */
const HIGHEST_TERM = 1_000_000

/** A box that is, or wants to be, the controller. */
const Box = z.object({
  /** Its id, made once for its data directory. */
  id: z.string().min(1).max(100),
  /** For people: its host name. */
  name: text(1, 255),
  /** Where people and recorders reach it. */
  url: z.url({ protocol: /^https?$/ }).max(2048),
})
export type Box = z.infer<typeof Box>

export const Lease = z.object({
  /** Whether the other box may take over by itself. */
  automatic: z.boolean(),
  /** Another box asks for the lease. `ready`: the holder has stopped, and its last write is the one with this mark. */
  handover: z
    .object({ mark: z.string().max(100).optional(), state: z.enum(['asked', 'ready']), to: Box })
    .optional()
    .catch(undefined),
  holder: Box,
  /** For people; nothing is decided by it. */
  renewedAt: z.iso.datetime(),
  /** Grows with each change of hands. */
  term: z.int().min(1).max(HIGHEST_TERM),
  version: z.literal(1),
})
export type Lease = z.infer<typeof Lease>
/** The same of a value that may be anything; undefined when it is none. */
export const leaseOf = (value: unknown): Lease | undefined => Lease.safeParse(value).data

/** The term in a header; undefined for anything that is none. */
export const termIn = (text: unknown): number | undefined =>
  typeof text === 'string' && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined

/** What a box that is not the controller answers to `GET /status`, and to everything else beside `reason`. */
export interface StandbyStatus {
  /** How old the newest copy of the database is, seconds; absent without one. */
  behindSeconds?: number
  /** What it is doing, or what to do about it. */
  message: string
  name: string
  /** Whether it could take over now. */
  ready: boolean
  role: 'fenced' | 'standby'
  /** Who is the controller; absent while that is not known. */
  serving?: { name: string; term: number; url: string }
  version: string
}

/** Reasons of the 503 of a box that is not the controller. */
export const AWAY = ['fenced', 'standby'] as const

/** What such a box answers to probes. */
const AwayProbe = z.object({ role: z.enum(AWAY), service: z.literal('roomtone') })
/** The role in it; undefined for a body of anything else. */
export const awayRoleOf = (body: unknown): (typeof AWAY)[number] | undefined => AwayProbe.safeParse(body).data?.role

/** What a box remembers of the lease, in its data directory. */
const LeaseMemory = z.object({
  /** The lease that shut this box out; it stays shut out until a person takes over again. */
  fencedBy: Lease.optional(),
  id: z.string().min(1).max(100),
  /** The highest term it held; 0: none. */
  term: z.int().min(0),
})
export type LeaseMemory = z.infer<typeof LeaseMemory>
/** The same of a value that may be anything; undefined when it is none. */
export const leaseMemoryOf = (value: unknown): LeaseMemory | undefined => LeaseMemory.safeParse(value).data
