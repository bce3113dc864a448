import { type AnyRoute, route } from '../edge/route.ts'
import type { Releases } from './releases.ts'

export const releaseRoutes = (releases: Releases): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/nodes/agent-release',
    auth: 'user',
    permission: 'node:read',
    action: 'nodes.agent_release.read',
    audit: 'decision',
    target: () => ({ type: 'agent_release' }),
    // The body is the check itself: `checkedAt` stands beside `data` (contract A, 2.9).
    run: () => {
      const { data, ...beside } = releases.current()
      return { data, beside }
    },
  }),
]
