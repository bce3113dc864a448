import type { AgentRelease, ReleaseList } from '../../wire/nodes.ts'

const TAG = /^agent-v((\d{4})\.(\d{2})\.(\d{2})-(\d{1,6}))$/

/** The calendar version in a tag as numbers; undefined for tags of anything else. */
function versionOf(tag: string): { numbers: number[]; version: string } | undefined {
  const [, version = '', ...parts] = TAG.exec(tag) ?? []
  return version ? { numbers: parts.map(Number), version } : undefined
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((n, i) => n !== b[i])
  return at === -1 ? 0 : (a[at] as number) - (b[at] as number)
}

/** The newest published agent release by its version, numbers compared as numbers: -10 is newer than -9. */
export function newestAgent(releases: ReleaseList): AgentRelease | null {
  const candidates = releases
    .filter((release) => !release.draft && !release.prerelease)
    .flatMap((release) => {
      const parsed = versionOf(release.tag_name)
      return parsed ? [{ ...parsed, release }] : []
    })
    .sort((a, b) => compare(b.numbers, a.numbers))
  const [newest] = candidates
  if (!newest) return null
  const { html_url: url, published_at: publishedAt, tag_name: tag } = newest.release
  return { tag, version: newest.version, ...(url ? { url } : {}), ...(publishedAt ? { publishedAt } : {}) }
}

/** The next page of a list by its Link header; only on the host that was asked: the token goes nowhere else. */
export function nextPage(link: string | undefined, from: URL): URL | undefined {
  const [, target] = /<([^>]{1,2000})>\s*;[^,]*\brel="?next"?/.exec(link?.slice(0, 8000) ?? '') ?? []
  return target === undefined ? undefined : sameOrigin(target, from)
}

/** `target` as seen from `from`, unless it leaves that host. */
export function sameOrigin(target: string, from: URL): URL | undefined {
  const to = URL.parse(target, from.href)
  return to?.origin === from.origin ? to : undefined
}
