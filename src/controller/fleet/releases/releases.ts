import { type Clock, iso } from '../../../kernel/clock.ts'
import { errorFields, type Log } from '../../../kernel/log.ts'
import type { AgentReleaseCheck } from '../../../wire/nodes.ts'
import type { Runner } from '../../scheduler/ticker.ts'
import type { CommitGroup } from '../../store/group.ts'
import { fetchReleases, ReleaseError, type ReleaseSource } from './release.http.ts'
import { newerOf, newestAgent } from './release.rules.ts'
import type { KnownRelease, ReleaseStore } from './release.store.ts'
import { fetchRelease } from './repository.fetch.ts'
import type { ReleaseRepository } from './repository.ts'

interface ReleaseParts extends ReleaseSource {
  clock: Clock
  repository: ReleaseRepository
  /** Whether a newer release is fetched into the repository. */
  fetch: boolean
  group: CommitGroup
  log: Log
  publicKey: string | undefined
  store: ReleaseStore
  ttlMs: number
}

// After a failure the host is left alone for a while (docs/contract/nodes.md: Releases).
const PAUSE_AFTER_ERROR_MS = 300_000

/**
 * The newest agent release by the last answer of the release host. Reading it never waits for the host: checks run in the
 * background, one at a time, and the last good answer stays until a newer one arrives.
 */
export class Releases {
  private readonly parts: ReleaseParts
  private readonly stopping = new AbortController()
  private checking: Promise<void> | undefined
  private failure: { at: number; reason: string } | undefined
  /** Why and when fetching the newest release last failed; logged once. */
  private fetchFailure: { at: number; error: string } | undefined

  constructor(parts: ReleaseParts) {
    this.parts = parts
  }

  /** What is known now; starts a check when one is due. */
  current(): AgentReleaseCheck {
    const { repository, repo } = this.parts
    const held = repository.newest()
    if (repo === undefined) {
      const data = newerOf(null, held)
      return data ? { data } : { data, reason: 'release_source_unconfigured' }
    }
    const known = this.known(repo)
    void this.refresh()
    const stale = known && (this.failure || this.age(known) > this.parts.ttlMs) ? { stale: true as const } : {}
    const reason = this.failure ? { reason: this.failure.reason } : {}
    return {
      data: newerOf(known?.data ?? null, held),
      ...(known ? { checkedAt: known.checkedAt } : {}),
      ...stale,
      ...reason,
    }
  }

  /** Checks when due, joining a check under way. Never throws: `current` reports what went wrong. */
  async refresh(): Promise<void> {
    const { repo } = this.parts
    if (this.checking) return this.checking
    if (repo === undefined || this.stopping.signal.aborted || !this.due(repo)) return
    this.checking = this.check(repo).finally(() => {
      this.checking = undefined
    })
    return this.checking
  }

  /** Checks at start and regularly while nobody asks, and verifies what is in the repository. */
  runner(): Runner {
    const { repository, ttlMs } = this.parts
    return {
      name: 'agent-release',
      enabled: true,
      intervalSeconds: Math.max(1, Math.ceil(Math.min(ttlMs, PAUSE_AFTER_ERROR_MS) / 1000)),
      tick: async () => {
        await repository.scan()
        await this.refresh()
        await this.fetchNewest()
        return this.current()
      },
    }
  }

  /** Aborts a check under way. */
  async stop(): Promise<void> {
    this.stopping.abort()
    await this.checking
  }

  /** Fetches the newest known release into the repository when it is missing; a failure is retried after a while. */
  private async fetchNewest(): Promise<void> {
    const { clock, repository, fetch, log, publicKey, repo, ttlMs } = this.parts
    const known = fetch && repo !== undefined ? this.known(repo) : undefined
    if (!known?.data || this.stopping.signal.aborted || (await repository.holds(known.data.version))) return
    if (this.fetchFailure && clock.monotonic() - this.fetchFailure.at < ttlMs) return
    const { tag, version } = known.data
    try {
      const parts = { dir: repository.dir, publicKey, source: this.parts }
      await fetchRelease(parts, version, known.assets, this.stopping.signal)
      await repository.scan()
      this.fetchFailure = undefined
      log.info('agent release fetched', { tag })
    } catch (e) {
      const { error } = errorFields(e)
      if (error !== this.fetchFailure?.error && !this.stopping.signal.aborted)
        log.warn('agent release could not be fetched', { reason: error, tag })
      this.fetchFailure = { at: clock.monotonic(), error }
    }
  }

  private known = (repo: string): KnownRelease | undefined => this.parts.store.read(this.source(repo))
  private source = (repo: string): string => `${this.parts.apiUrl} ${repo}`
  // A check in the future was made before the clock was set back.
  private age = (known: KnownRelease): number => Math.abs(this.parts.clock.now() - Date.parse(known.checkedAt))

  private due(repo: string): boolean {
    const { clock, ttlMs } = this.parts
    if (this.failure) return clock.monotonic() - this.failure.at >= Math.min(PAUSE_AFTER_ERROR_MS, ttlMs)
    const known = this.known(repo)
    return !known || this.age(known) >= ttlMs
  }

  private async check(repo: string): Promise<void> {
    const { clock, group, log, store } = this.parts
    try {
      const newest = newestAgent(await fetchReleases(this.parts, repo, this.stopping.signal))
      const found = newest ?? { assets: [], data: null }
      const known = { ...found, checkedAt: iso(clock.now()), source: this.source(repo) }
      await group.submit(() => store.write(known), false)
      this.failure = undefined
    } catch (e) {
      // Sites without internet are normal: every response reports it, the log only once.
      const reason = e instanceof ReleaseError ? e.reason : 'release_check_failed'
      const before = this.failure?.reason
      this.failure = { at: clock.monotonic(), reason }
      if (reason !== before)
        log.warn('agent release check failed', e instanceof ReleaseError ? { reason } : errorFields(e))
    }
  }
}
