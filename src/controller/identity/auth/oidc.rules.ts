import { Fail } from '../../../kernel/fail.ts'
import { isLoopback } from '../../../kernel/loopback.ts'
import { ROLES, type Role } from '../../../wire/permissions.ts'
import { onOneLine } from '../../../wire/scalars.ts'
import { slug } from '../access/access.rules.ts'

/** What the settings say about the identity provider (docs/contract/access.md: Sign-in through a provider). */
export interface OidcSettings {
  clientId: string | undefined
  clientSecret: string | undefined
  enabled: boolean
  /** Allows http for a loopback issuer. */
  insecure: boolean
  issuer: string | undefined
  provider: 'azure_ad' | 'oidc'
  redirectUri: string | undefined
  scopes: string[]
}

/** Someone the provider vouches for. */
export interface Identity {
  email: string
  /** Groups by ids in our format; absent when the token has no group claim. */
  groups?: { id: string; name: string }[]
  /** The link between an account here and one there. */
  externalId: string
  name: string
  /** Only known roles; absent when the token has no role claim. */
  roles?: Role[]
  /** The token could not list all groups: the stored ones stay as they are. */
  groupsOverage: boolean
}

const MAX_NAME = 160
const MAX_GROUPS = 200

/** Settings that are missing before anybody can log in. */
export const missingFields = ({ clientId, issuer, redirectUri }: OidcSettings): string[] =>
  Object.entries({ issuer, clientId, redirectUri })
    .filter(([, value]) => !value)
    .map(([name]) => name)

/** An issuer is compared and asked without its trailing slash. */
export const plainIssuer = (issuer: string): string => issuer.replace(/\/+$/, '')

// Hosts of Entra ID, where the first segment of the path is the tenant.
const ENTRA = /(^|\.)(microsoftonline\.(com|us|cn)|chinacloudapi\.cn|windows\.net|microsoft\.com)$/
const TENANT = /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z0-9-]+(\.[a-z0-9-]+)+)$/
// The tenant of all personal accounts.
const CONSUMERS_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad'

/**
 * Why a tenant of Entra ID cannot be used: `common`, `organizations` and `consumers` admit accounts of any organisation,
 * with roles assigned by that organisation.
 */
export function tenantFault(tenant: string): string | undefined {
  const name = tenant.toLowerCase()
  if (TENANT.test(name) && name !== CONSUMERS_TENANT) return undefined
  return `"${tenant.slice(0, 80)}" is no single tenant of Entra ID: set the id (or a domain) of your own`
}

/** Why an issuer cannot be used; undefined when it can. */
export function issuerFault(issuer: string, insecure: boolean): string | undefined {
  const { hostname, pathname, protocol } = new URL(issuer)
  if (ENTRA.test(hostname)) {
    const fault = tenantFault(pathname.split('/')[1] ?? '')
    if (fault) return fault
  }
  if (protocol === 'https:') return undefined
  if (protocol === 'http:' && insecure && isLoopback(hostname)) return undefined
  return 'the issuer has to be an https address; http is admitted only for loopback, with SVC_OIDC_ALLOW_INSECURE_ISSUER'
}

/**
 * Where the browser goes after the login: a path of the console, or an address of one of `origins`. Anything else leads to
 * the console's start page, so that a login cannot be redirected to a foreign site.
 */
export function returnAddress(asked: string | undefined, origins: readonly string[]): URL {
  const home = new URL(origins[0] as string)
  if (!asked || asked.length > 2000 || !URL.canParse(asked, home.href)) return home
  const url = new URL(asked, home)
  const known = origins.some((origin) => new URL(origin).origin === url.origin)
  return known && !url.username && !url.password ? url : home
}

/** The path of the console a login leads back to; anything that would lead elsewhere is its start page. */
export function pathOf(asked: string | undefined): string {
  const here = 'http://console.invalid'
  if (!asked?.startsWith('/') || asked.length > 2000 || !URL.canParse(asked, here)) return '/'
  const { origin, pathname, search } = new URL(asked, here)
  // Dots are resolved by now: `/..//host` has become an address of another host.
  return origin === here && !pathname.startsWith('//') ? pathname + search : '/'
}

const textOf = (value: unknown): string | undefined => {
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' ? undefined : text
}
const refused = (why: string): Fail =>
  new Fail(401, 'oidc_claims_invalid', 'OIDC callback failed', {
    body: { reason: 'oidc_claims_invalid' },
    details: { why },
  })

/**
 * The claims of a verified ID token as an identity. `digest` names a group whose id does not fit ours.
 * @throws Fail 401 `oidc_claims_invalid` when they name nobody, or an address that is not theirs.
 */
export function identityOf(claims: Record<string, unknown>, digest: (text: string) => string): Identity {
  const externalId = textOf(claims.oid) ?? textOf(claims.sub)
  const email = (textOf(claims.email) ?? textOf(claims.preferred_username) ?? textOf(claims.upn))?.toLowerCase()
  if (!externalId || externalId.length > 320) throw refused('no usable subject')
  if (!email || email.length > 320 || !/^[^\s@]+@[^\s@]+$/.test(email)) throw refused('no usable e-mail address')
  if (claims.email_verified === false) throw refused('the e-mail address is not verified')
  return {
    email,
    externalId,
    groupsOverage: hasOverage(claims),
    name: onOneLine(textOf(claims.name) ?? email).slice(0, MAX_NAME),
    ...ifList(claims.groups, (values) => ({
      groups: values.slice(0, MAX_GROUPS).map((name) => groupOf(name, digest)),
    })),
    ...ifList(claims.roles, (values) => ({ roles: ROLES.filter((role) => values.includes(role)) })),
  }
}

const hasOverage = ({ _claim_names: names }: Record<string, unknown>): boolean =>
  typeof names === 'object' && names !== null && 'groups' in names

function ifList<T>(value: unknown, make: (values: string[]) => T): T | undefined {
  if (!Array.isArray(value)) return undefined
  return make(value.filter((one): one is string => typeof one === 'string' && one.trim() !== ''))
}

/** A value in our format is the id itself; any other gets an id derived from its digest. */
function groupOf(value: string, digest: (text: string) => string): { id: string; name: string } {
  const id = value.length <= 120 && slug(value) === value ? value : `group-${digest(value).slice(0, 12)}`
  return { id, name: onOneLine(value).slice(0, MAX_NAME) }
}
