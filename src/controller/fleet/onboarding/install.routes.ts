import { assetText } from '../../../kernel/assets.ts'
import { shellQuoted } from '../../../wire/install.ts'
import type { SiteAuthority } from '../../http/certificates.ts'
import { type AnyRoute, stream } from '../../http/route.ts'

/** What tells a new box that it reached this controller at an address, where that can be told. */
export type Introducing = (address: string | undefined) => SiteAuthority | undefined

interface Parts {
  introduction: Introducing
  publicUrl: string | undefined
  tls: boolean
}

/** The installer for new boxes. It holds no secret: what it fetches and joins asks for the node's own token. */
export const installRoutes = ({ introduction, publicUrl, tls }: Parts): AnyRoute[] => [
  stream({
    method: 'GET',
    path: '/install.sh',
    auth: 'none',
    permission: null,
    action: 'onboarding.installer.read',
    audit: 'none',
    target: () => ({ type: 'controller' }),
    run: async ({ request }) => {
      const address = ownAddress(publicUrl, request.header('host'), tls)
      const script = fillInstaller(assetText('scripts/install-agent.sh'), address, introduction(address)?.authority)
      const headers = { 'cache-control': 'no-cache', 'content-type': 'text/x-shellscript; charset=utf-8' }
      return { response: new Response(script, { headers }) }
    },
  }),
]

const PLACE = /^default_controller_url=''$/m
const AUTHORITY = /^default_controller_ca=''$/m
// A name or address with a port, and nothing a shell, a log or a person could stumble over.
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:]{2,45}\])(?::\d{1,5})?$/

/**
 * Where the one who asks reached this controller: the address the operator gave it, else the name it was called by.
 * undefined: a name that is none, so the script has to be told.
 */
export function ownAddress(publicUrl: string | undefined, host: string | undefined, tls: boolean): string | undefined {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  return host !== undefined && HOST.test(host) ? `${tls ? 'https' : 'http'}://${host}` : undefined
}

/** The installer, knowing where it came from, and the site's own authority, PEM. */
export function fillInstaller(script: string, address: string | undefined, authority?: string): string {
  if (address === undefined) return script
  const addressed = script.replace(PLACE, () => `default_controller_url=${shellQuoted(address)}`)
  return authority ? addressed.replace(AUTHORITY, () => `default_controller_ca=${shellQuoted(authority)}`) : addressed
}
