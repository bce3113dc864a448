// The release list of a GitHub-like host: pages of JSON, newest first.
import { type Answer, ask, jsonOf, NoAnswer } from '../../../kernel/http.ts'
import { type ReleaseList, releaseListOf } from '../../../wire/nodes.ts'
import { nextPage, sameOrigin } from './release.rules.ts'

export interface ReleaseSource {
  apiUrl: string
  /** `owner/name`; no repository, no check. */
  repo: string | undefined
  timeoutMs: number
  token: string | undefined
}

/** The release list is not available; `reason` is shown to people. */
export class ReleaseError extends Error {
  readonly reason: string

  constructor(reason: string, message: string = reason) {
    super(message)
    this.reason = reason
  }
}

const PAGES = 5
// A moved repository answers with a redirect or two.
export const HOPS = 3
export const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]
const MAX_PAGE_BYTES = 8 * 1024 * 1024

/** Up to five pages of releases, all within the time limit. @throws ReleaseError for anything but a usable list. */
export async function fetchReleases(source: ReleaseSource, repo: string, signal: AbortSignal): Promise<ReleaseList> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(source.timeoutMs)])
  const releases: ReleaseList = []
  let url: URL | undefined = new URL(`${source.apiUrl.replace(/\/+$/, '')}/repos/${repo}/releases?per_page=100`)
  for (let page = 0; url && page < PAGES; page++) {
    const { answer, at } = await follow(source, url, within)
    if (answer.status !== 200) throw new ReleaseError(`release_source_${answer.status}`)
    const list = releaseListOf(jsonOf(answer.text))
    if (!list) throw new ReleaseError('release_source_invalid_answer')
    releases.push(...list)
    url = nextPage(header(answer, 'link'), at)
  }
  return releases
}

async function follow(source: ReleaseSource, from: URL, signal: AbortSignal): Promise<{ answer: Answer; at: URL }> {
  let at = from
  for (let hop = 0; ; hop++) {
    const answer = await page(source, at, signal)
    const to = header(answer, 'location')
    if (!REDIRECTS.includes(answer.status) || to === undefined || hop === HOPS) return { answer, at }
    const next = sameOrigin(to, at)
    if (!next) throw new ReleaseError('release_source_redirects_elsewhere')
    at = next
  }
}

async function page({ timeoutMs, token }: ReleaseSource, url: URL, signal: AbortSignal): Promise<Answer> {
  const headers = {
    accept: 'application/vnd.github+json',
    'user-agent': 'roomtone',
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  }
  try {
    return await ask({ headers, maxBytes: MAX_PAGE_BYTES, method: 'GET', signal, timeoutMs, url })
  } catch (e) {
    if (e instanceof NoAnswer) throw new ReleaseError(releaseReason(e))
    throw e
  }
}

/** Aborting is how the time limit ends a request. */
export const releaseReason = ({ reason }: NoAnswer): string =>
  `release_source_${reason === 'aborted' ? 'timeout' : reason}`

const header = ({ headers }: Answer, name: 'link' | 'location'): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
