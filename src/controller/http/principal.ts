import type { Permission } from '../../wire/permissions.ts'

/** A grant or a refusal on one resource; `*` matches any type or any id. */
export interface Pair {
  id: string
  type: string
}

export interface UserPrincipal {
  kind: 'user'
  /** Grants and allow policies. */
  allow: Pair[]
  /** Deny policies: they win over everything. */
  deny: Pair[]
  email: string
  id: string
  name: string
  permissions: ReadonlySet<Permission>
  roles: string[]
  /** Room roster: capability by room id. */
  rooms: ReadonlyMap<string, ReadonlySet<string>>
  sessionId: string
  /** A screen on a wall: nobody signed in, a link opened it. */
  display?: true
  /** Authenticated by a ticket: one recording and one permission of this person, nothing else. */
  ticketed?: true
}

export interface NodePrincipal {
  kind: 'node'
  credentialId: string
  nodeId: string
}

export interface BootstrapPrincipal {
  kind: 'bootstrap'
  /** Who had the token made; null where the controller itself did. */
  createdBy: string | null
  nodeId: string
  tokenHash: string
  tokenPrefix: string
}

export interface RunnerPrincipal {
  kind: 'runner'
}

/** The monitoring system, by its static token: reads metrics and nothing else. */
export interface ScraperPrincipal {
  kind: 'scraper'
}

interface AnonymousPrincipal {
  kind: 'anonymous'
}

export type Principal =
  | UserPrincipal
  | NodePrincipal
  | BootstrapPrincipal
  | RunnerPrincipal
  | ScraperPrincipal
  | AnonymousPrincipal

export interface Actor {
  id: string
  name: string
  roles: string[]
  type: 'node' | 'system' | 'user'
}

/** How a principal appears in audit rows. */
export function actorOf(principal: Principal | undefined): Actor {
  switch (principal?.kind) {
    case 'user':
      return {
        id: principal.id,
        name: principal.name,
        roles: principal.roles,
        type: principal.display ? 'system' : 'user',
      }
    case 'node':
    case 'bootstrap':
      return { id: principal.nodeId, name: principal.nodeId, roles: [], type: 'node' }
    case 'runner':
      return { id: 'ansible-runner', name: 'Ansible Runner', roles: [], type: 'system' }
    case 'scraper':
      return { id: 'metrics-scraper', name: 'Metrics Scraper', roles: [], type: 'system' }
    default:
      return { id: 'anonymous', name: 'Anonymous', roles: [], type: 'user' }
  }
}

/** A background runner as the actor of its service actions, for example `system:job-lease`. */
export const systemActor = (name: string): Actor => ({
  id: `system:${name}`,
  name: `system:${name}`,
  roles: [],
  type: 'system',
})
