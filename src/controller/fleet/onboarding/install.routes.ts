import { assetText } from '../../../kernel/assets.ts'
import { shellQuoted } from '../../../wire/install.ts'
import type { SiteAuthority } from '../../http/certificates.ts'
import { type AnyRoute, stream } from '../../http/route.ts'

/** How a new box can recognise this controller at an address; undefined when it cannot. */
export type Introducing = (address: string | undefined) => SiteAuthority | undefined

interface Parts {
  introduction: Introducing
  publicUrl: string | undefined
  tls: boolean
}

/** The installer for new boxes. It contains no secret: downloading and joining require the node's own token. */
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
// A name or address with an optional port, safe in a shell and in a log.
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:]{2,45}\])(?::\d{1,5})?$/

/**
 * The address of this controller: the one the operator configured, else the host of the request; undefined when that is not a
 * valid name, so that the script needs the address as an argument.
 */
export function ownAddress(publicUrl: string | undefined, host: string | undefined, tls: boolean): string | undefined {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  return host !== undefined && HOST.test(host) ? `${tls ? 'https' : 'http'}://${host}` : undefined
}

/** The installer with the address of this controller and the site's own certificate authority (PEM) filled in. */
export function fillInstaller(script: string, address: string | undefined, authority?: string): string {
  if (address === undefined) return script
  const addressed = script.replace(PLACE, () => `default_controller_url=${shellQuoted(address)}`)
  return authority ? addressed.replace(AUTHORITY, () => `default_controller_ca=${shellQuoted(authority)}`) : addressed
}
