import { assetText } from '../../../kernel/assets.ts'
import { type AnyRoute, stream } from '../../http/route.ts'
import type { Introduction } from '../../http/siteca.ts'
import { filledIn, ownAddress } from './install.rules.ts'

/** What tells a new box that it reached this controller at an address, where that can be told. */
export type Introducing = (address: string | undefined) => Introduction | undefined

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
      const script = filledIn(assetText('scripts/install-agent.sh'), address, introduction(address)?.authority)
      const headers = { 'cache-control': 'no-cache', 'content-type': 'text/x-shellscript; charset=utf-8' }
      return { response: new Response(script, { headers }) }
    },
  }),
]
