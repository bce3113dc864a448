import { compareVersions, tagOfVersion, versionOfTag } from '../../../system/host/release.rules.ts'
import type { AgentRelease, ReleaseAsset, ReleaseList } from '../../../wire/nodes.ts'
import type { Newest } from './repository.ts'

interface Found {
  assets: ReleaseAsset[]
  data: AgentRelease
}

/** The newest published agent release by its version, numbers compared as numbers: -10 is newer than -9. */
export function newestAgent(releases: ReleaseList): Found | null {
  const [newest] = releases
    .filter((release) => !release.draft && !release.prerelease)
    .flatMap((release) => {
      const version = versionOfTag(release.tag_name)
      return version ? [{ release, version }] : []
    })
    .sort((a, b) => compareVersions(b.version, a.version))
  if (!newest) return null
  const { assets, html_url: url, published_at: publishedAt, tag_name: tag } = newest.release
  const dated = { ...(url ? { url } : {}), ...(publishedAt ? { publishedAt } : {}) }
  return { assets, data: { tag, version: newest.version, ...dated } }
}

/**
 * The newer of the release host's version and the one this controller holds. Builds without a calendar version are never
 * offered as an update (docs/contract/nodes.md: Releases).
 */
export function newerOf(published: AgentRelease | null, held: Newest | undefined): AgentRelease | null {
  const tag = tagOfVersion(held?.version ?? '')
  if (!held || !versionOfTag(tag)) return published
  const order = published ? compareVersions(published.version, held.version) : -1
  if (published && order > 0) return published
  return { ...(order === 0 ? published : {}), hosted: held.architectures, tag, version: held.version }
}

/** The next page of a list by its Link header; only on the same host, because the token must not go elsewhere. */
export function nextPage(link: string | undefined, from: URL): URL | undefined {
  const [, target] = /<([^>]{1,2000})>\s*;[^,]*\brel="?next"?/.exec(link?.slice(0, 8000) ?? '') ?? []
  return target === undefined ? undefined : sameOrigin(target, from)
}

/** `target` as seen from `from`, unless it leaves that host. */
export function sameOrigin(target: string, from: URL): URL | undefined {
  const to = URL.parse(target, from.href)
  return to?.origin === from.origin ? to : undefined
}
