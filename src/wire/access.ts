import * as z from 'zod'
import { type Capability, type Permission, ROLES, type Role } from './permissions.ts'
import { prose, query, someField, text } from './scalars.ts'
import type { Weekday } from './settings.ts'

export const Login = z.object({ email: z.email().max(320).toLowerCase(), password: z.string().min(1).max(1024) })

/** A number of a query: not a number is `fallback`, one out of bounds is the nearest bound. */
export const clamped = (least: number, most: number, fallback: number) =>
  z.preprocess((v) => {
    const n = typeof v === 'string' && v.trim() !== '' ? Math.trunc(Number(v)) : Number.NaN
    return Number.isNaN(n) ? fallback : Math.min(Math.max(n, least), most)
  }, z.number())
/** The lenient page of users and groups. */
export const AccessPage = z.object({ limit: clamped(1, 200, 50), offset: clamped(0, Number.MAX_SAFE_INTEGER, 0) })
export type AccessPage = z.infer<typeof AccessPage>
/** `search`: in names, and in the e-mail addresses of people. */
export const AccessList = z.object({ ...AccessPage.shape, search: query(text(1, 160)) })
export type AccessList = z.infer<typeof AccessList>

export const OidcReturn = z.object({
  returnTo: z.string().max(4000).optional(),
  /** The console asks for a session in a cookie, everybody else gets a token in the fragment. */
  session: z.literal('cookie').optional(),
})
/** A provider may add parameters of its own (iss, session_state). */
export const OidcCallback = z.record(z.string(), z.string().max(8000))

const password = z.string().min(8).max(200)
const roles = z.array(z.enum(ROLES)).min(1)
const groupIds = z.array(text(1, 120)).max(64).default([])
const resourceGrants = z
  .array(z.strictObject({ resourceId: text(1, 160), resourceType: text(1, 80) }))
  .max(1024)
  .default([])

/** Of one's own password; in a session that a link opened the current one may be left out, once. */
export const PasswordChange = z.strictObject({
  currentPassword: z.string().min(1).max(1024).optional(),
  newPassword: password,
})
/** Ends all sessions but the one that asks. */
export const OtherSessions = z.strictObject({ others: z.literal('1') })
/** A link that signs in once, on the machine of the controller. */
export const SignInLink = z.strictObject({ token: text(1, 200) })

export const UserInput = z.strictObject({
  email: z.email().max(320).toLowerCase(),
  groupIds,
  name: text(1, 160),
  password,
  resourceGrants,
  roles,
})
export type UserInput = z.infer<typeof UserInput>
export const AccessUpdate = z.strictObject({ groupIds, resourceGrants, roles })
export type AccessUpdate = z.infer<typeof AccessUpdate>
export const PasswordReset = z.object({ password })
export const UserStatus = z.object({ disabled: z.boolean() })

const memberIds = z.array(text(1, 160)).max(1024)
export const GroupInput = z.strictObject({
  description: prose(0, 2000).optional(),
  memberIds: memberIds.default([]),
  name: text(1, 160),
})
export type GroupInput = z.infer<typeof GroupInput>
export const GroupPatch = z
  .strictObject({ description: prose(0, 2000).nullable().optional(), name: text(1, 160).optional() })
  .refine(someField, 'At least one group field is required')
export type GroupPatch = z.infer<typeof GroupPatch>
export const GroupMembers = z.strictObject({ memberIds })

export const PolicyInput = z
  .object({
    effect: z.enum(['allow', 'deny']),
    reason: prose(0, 500).optional(),
    resourceId: text(1, 160),
    resourceType: text(1, 80),
    subjectId: text(1, 320).optional(),
    subjectType: z.enum(['user', 'group', 'everyone']),
  })
  .refine((p) => p.subjectType === 'everyone' || p.subjectId !== undefined, {
    path: ['subjectId'],
    error: 'required for a user or a group',
  })
export type PolicyInput = z.infer<typeof PolicyInput>
/** Replaces the whole list. */
export const PolicyUpdate = z.strictObject({ policies: z.array(PolicyInput).max(2000).default([]) })
export type Policy = PolicyInput & { id: string }

export interface CurrentUser {
  disabledAt?: string
  email: string
  groups: { id: string; name: string }[]
  id: string
  name: string
  permissions: Permission[]
  provider: 'local' | 'oidc'
  resourceGrants: { resourceId: string; resourceType: string }[]
  roles: Role[]
}

/** The person who asks, with what a console needs to show the right things. */
export interface Myself extends CurrentUser {
  /** A link opened this session: a new password may be set without the current one, once. */
  choosesPassword?: true
  /** End of the session. */
  expiresAt: string
  /** From rosters alone: roles give more. */
  roomCapabilities: { capabilities: Capability[]; roomId: string }[]
  site: Site
}

/** The place of this controller, as everybody who is signed in may know it. */
export interface Site {
  /** Length of a take that is started without one (SVC_AGENT_CAPTURE_SECONDS). */
  defaultDurationSeconds: number
  name: string
  /** Where people and recorders reach the controller, when it is set (SVC_PUBLIC_URL). */
  publicUrl?: string
  /** IANA. */
  timezone: string
  /** `name` is that of the controller: nobody has named the site yet. */
  unnamed?: true
  weekStartsOn: Weekday
}

/** What a person may do in a room, for whatever reason: role and grants, policies, groups, the roster. */
export interface RoomRights {
  id: string
  name: string
  /** None: the room is not shown to this person. */
  permissions: Permission[]
  site: string
}

/** One open session of a person. */
export interface Session {
  createdAt: string
  /** Whether this session is the one that asks. */
  current: boolean
  expiresAt: string
  id: string
  ipAddress?: string
  /** A token in a header, or the cookie of the console. */
  kind: 'bearer' | 'cookie'
  lastSeenAt: string
  userAgent?: string
}

export interface Group {
  createdAt: string
  description?: string
  id: string
  memberCount: number
  name: string
  updatedAt: string
}

export type GroupDetail = Group & { members: { email: string; id: string; name: string }[] }
