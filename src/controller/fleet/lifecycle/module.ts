import { iso } from '../../../kernel/clock.ts'
import type { Base, Module } from '../../module.ts'
import type { FleetApi } from '../api.ts'
import { Dispatch } from './dispatch.ts'
import { embeddedRunner } from './embedded.ts'
import { lifecycleRoutes } from './lifecycle.routes.ts'
import { lifecycleStore } from './lifecycle.store.ts'
import { externalRunner } from './runner.http.ts'

interface Deps {
  fleet: FleetApi
}

/** Actions on nodes over SSH, by this process or by an external runner. */
export function createLifecycle(base: Base, { fleet }: Deps): Module {
  const { audit, clock, db, events, group, ids, log } = base
  const jobs = lifecycleStore(db)
  const runner = runnerOf(base, fleet)
  const dispatch = new Dispatch({
    act: runner.act,
    audit,
    clock,
    events,
    group,
    jobs,
    log,
    sshKeys: fleet.onboarding.sshKeys,
  })
  return {
    api: undefined,
    release: () => void dispatch.stop(),
    routes: lifecycleRoutes({ dispatch, events, ids, jobs, nodes: fleet.nodes }),
    // Jobs that ended with the previous process must not show as running.
    start: () => dispatch.settleInterrupted(),
    stop: async () => {
      await dispatch.stop()
      runner.close()
    },
  }
}

function runnerOf({ audit, clock, config, group, ids, log }: Base, { onboarding }: FleetApi) {
  const { embedded: settings } = config
  for (const words of settings?.warnings ?? []) log.warn(words)
  if (settings) return embeddedRunner({ audit, group, ids, now: () => iso(clock.now()), settings, stores: onboarding })
  const act = externalRunner({
    timeoutMs: config.SVC_ANSIBLE_RUNNER_TIMEOUT_MS,
    token: config.SVC_ANSIBLE_RUNNER_TOKEN,
    url: config.SVC_ANSIBLE_RUNNER_URL,
  })
  return { act, close: () => {} }
}
