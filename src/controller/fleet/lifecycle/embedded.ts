// The lifecycle runner inside the controller, for a site of one box (SVC_LIFECYCLE_EMBEDDED): the same runs, without HTTP,
// and the keys straight from the store.
import { Fail } from '../../../kernel/fail.ts'
import type { Ids } from '../../../kernel/ids.ts'
import type { RunSettings } from '../../../lifecycle/config.ts'
import { type MaterialSource, materialFail } from '../../../lifecycle/material.ts'
import { perform } from '../../../lifecycle/run.ts'
import { Vault } from '../../../lifecycle/vault.ts'
import type { Audit } from '../../http/audit.ts'
import { systemActor } from '../../http/principal.ts'
import type { CommitGroup } from '../../store/group.ts'
import { type MaterialStores, materialOf } from '../onboarding/material.store.ts'
import { type Act, failed, outcomeOf } from './lifecycle.rules.ts'

interface EmbeddedParts {
  audit: Audit
  group: CommitGroup
  ids: Ids
  now: () => string
  settings: RunSettings
  stores: MaterialStores
}

/** Performs runs in this process; `close` removes their leftovers once none is under way. */
export function embeddedRunner(parts: EmbeddedParts): { act: Act; close(): void } {
  const { ids, settings } = parts
  const vault = new Vault(settings.vaultDirs)
  const run = { ids, material: storedMaterial(parts), secrets: [], settings, vault }
  return {
    act: async (request, onOutput, signal) => {
      try {
        return outcomeOf(200, { data: await perform(run, request, onOutput, signal) }, [])
      } catch (e) {
        if (signal.aborted) return failed('controller_stopped')
        if (e instanceof Fail) return { ...failed(e.reason), stderr: e.message }
        throw e
      }
    },
    close: () => vault.close(),
  }
}

/** Every access to a key is audited, as on the runner's route (docs/contract/lifecycle.md: Material). */
const storedMaterial = ({ audit, group, now, stores }: EmbeddedParts): MaterialSource => ({
  async fetch(nodeId, mint) {
    const entry = { action: 'nodes.ssh_credential.fetch', actor: systemActor('lifecycle'), permission: null }
    const target = { type: 'node', id: nodeId }
    const look = () => {
      const { data, ...fields } = materialOf(stores, nodeId, mint, now())
      audit.write({ ...entry, ...fields, outcome: 'succeeded', target }, now())
      return data
    }
    const auditFailure = (e: unknown) => {
      const reason = e instanceof Fail ? e.reason : 'internal_error'
      audit.write({ ...entry, outcome: 'failed', reason, target }, now())
    }
    try {
      return await group.submit(look, true, auditFailure)
    } catch (e) {
      if (!(e instanceof Fail)) throw e
      if (e.status === 404) return undefined
      throw materialFail(e.status, e.message)
    }
  },
})
