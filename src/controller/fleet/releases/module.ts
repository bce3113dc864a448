import { LATEST } from '../../../system/host/release.rules.ts'
import type { Base, Module } from '../../module.ts'
import { releaseRoutes } from './release.routes.ts'
import { releaseStore } from './release.store.ts'
import { Releases } from './releases.ts'
import { packingRunner, type Running } from './repository.own.ts'

import { ReleaseRepository } from './repository.ts'

interface Deps {
  /** The running executable, for nodes to download; absent in development. */
  running: Running | undefined
}

/** The releases that nodes can be updated to. */
export function createReleases(base: Base, { running }: Deps): Module {
  const { clock, config, db, group, log } = base
  const publicKey = config.SVC_AGENT_RELEASE_PUBLIC_KEY
  const repository = new ReleaseRepository({ dir: config.SVC_AGENT_RELEASE_DIR, log, publicKey, running })
  const releases = new Releases({
    apiUrl: config.SVC_GITHUB_API_URL,
    clock,
    repository,
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
    routes: releaseRoutes({ repository, log, releases }),
    runners: [releases.runner(), packingRunner(clock, running && (() => repository.offer(LATEST)))],
    stop: async () => {
      await releases.stop()
      await repository.stop()
    },
  }
}
