import { Fail, found, notFound } from '../../../kernel/fail.ts'
import { errorFields, type Log } from '../../../kernel/log.ts'
import { sumLine, tagOfVersion } from '../../../system/host/release.rules.ts'
import { IN_PARTS, sendFile } from '../../http/files.ts'
import { type AnyRoute, type Incoming, route, type Streamed, stream } from '../../http/route.ts'
import type { Releases } from './releases.ts'
import { type Asked, askedFor, factsOf, type Held, type HeldFile } from './repository.rules.ts'
import type { ReleaseRepository } from './repository.ts'

interface Parts {
  repository: ReleaseRepository
  log: Log
  releases: Releases
}

export const releaseRoutes = (parts: Parts): AnyRoute[] => [
  route({
    method: 'GET',
    path: '/nodes/agent-release',
    auth: 'user',
    permission: 'node:read',
    action: 'nodes.agent_release.read',
    audit: 'decision',
    target: () => ({ type: 'agent_release' }),
    // The body is the check itself, with `checkedAt` next to `data` (docs/contract/nodes.md: Releases).
    run: () => {
      const { data, ...beside } = parts.releases.current()
      return { data, beside }
    },
  }),
  download(parts, 'bootstrap', 'nodes.agent_release.install'),
  download(parts, 'node', 'nodes.agent_release.download'),
]

/** For the node itself, and for a box that will become it: its bootstrap token is checked, not spent. */
const download = (parts: Parts, auth: 'bootstrap' | 'node', action: string): AnyRoute =>
  stream({
    method: 'GET',
    path: '/nodes/:id/agent-release/:file',
    otherwise: IN_PARTS,
    auth,
    permission: null,
    action,
    target: (p) => ({ type: 'node', id: p.id }),
    run: ({ params, request }) => sent(parts, params.file, request),
  })

async function sent({ repository, log }: Parts, file: string, request: Incoming): Promise<Streamed> {
  const asked = found(askedFor(file), 'Release file')
  const release = found(await offered(repository, asked.version, log), 'Release')
  const details = { file: file.slice(0, 200), tag: tagOfVersion(release.version) }
  return { details, response: await answer(repository.dir, release, asked, request) }
}

/** @throws Fail 503 when the release could not be prepared; the log has the cause. */
async function offered(repository: ReleaseRepository, version: string, log: Log): Promise<Held | undefined> {
  try {
    return await repository.offer(version)
  } catch (e) {
    log.error('this executable could not be packed for nodes', errorFields(e))
    throw new Fail(503, 'release_not_ready', 'The release could not be made ready: the log of the controller says why')
  }
}

async function answer(dir: string, release: Held, asked: Asked, request: Incoming): Promise<Response> {
  if (!('arch' in asked)) return paper(release, asked.kind)
  const archive = found(
    release.archives.find(({ arch }) => arch === asked.arch),
    'Release for this architecture',
  )
  if (asked.kind === 'digest') return text(sumLine(archive.name, archive.sha256))
  return (await sendFile(request, dir, outgoing(archive))).response
}

function paper(release: Held, kind: Asked['kind']): Response {
  if (kind === 'facts') return Response.json({ data: factsOf(release) }, { headers: FRESH })
  return kind === 'sums' ? text(release.sums) : bytes(found(release.signature, 'Release signature'))
}

const FRESH = { 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' }
const text = (body: string) =>
  new Response(body, { headers: { ...FRESH, 'content-type': 'text/plain; charset=utf-8' } })
const bytes = (body: Uint8Array) =>
  new Response(Buffer.from(body), { headers: { ...FRESH, 'content-type': 'application/octet-stream' } })

const outgoing = ({ at, name, path, sha256, size }: HeldFile) => ({
  contentType: 'application/gzip',
  disposition: 'attachment' as const,
  missing: () => notFound('Release file'),
  name: { ascii: name, unicode: name },
  path,
  size,
  storedAt: at,
  tag: sha256,
})
