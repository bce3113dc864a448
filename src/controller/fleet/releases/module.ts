import type { Base, Module } from '../../module.ts'
import type { Running } from './depot.own.ts'
import { Depot } from './depot.ts'
import { releaseRoutes } from './release.routes.ts'
import { releaseStore } from './release.store.ts'
import { Releases } from './releases.ts'

interface Deps {
  /** The executable that runs, to be given to nodes; absent in development. */
  running: Running | undefined
}

/** The versions that nodes can be brought to. */
export function createReleases(base: Base, { running }: Deps): Module {
  const { clock, config, db, group, log } = base
  const publicKey = config.SVC_AGENT_RELEASE_PUBLIC_KEY
  const depot = new Depot({ dir: config.SVC_AGENT_RELEASE_DIR, log, publicKey, running })
  const releases = new Releases({
    apiUrl: config.SVC_GITHUB_API_URL,
    clock,
    depot,
    fetch: config.SVC_AGENT_RELEASE_FETCH,
    group,
    log,
    publicKey,
    repo: config.SVC_AGENT_RELEASE_REPO,
    store: releaseStore(db),
    timeoutMs: config.SVC_AGENT_RELEASE_TIMEOUT_MS,
    token: config.SVC_GITHUB_TOKEN,
    ttlMs: config.SVC_AGENT_RELEASE_TTL_MS,
  })
  return {
    api: undefined,
    release: () => void releases.stop(),
    routes: releaseRoutes({ depot, log, releases }),
    runners: [releases.runner()],
    stop: async () => {
      await releases.stop()
      await depot.stop()
    },
  }
}
