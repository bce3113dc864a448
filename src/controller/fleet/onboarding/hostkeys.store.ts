import { fingerprint } from '../../../crypto/sshkey.ts'
import { invalid } from '../../../kernel/fail.ts'
import type { HostKey } from '../../../wire/nodes.ts'
import type { Db } from '../../store/db.ts'

/**
 * Public keys of the nodes' SSH servers, by which the lifecycle runner recognises them. They come with a bootstrap or from an
 * operator, never with a node's regular reports: whoever takes over a node must not be able to replace them.
 */
export function hostKeyStore(db: Db) {
  const get = db.stmt<{ nodeId: string }, { keys: string }>('SELECT host_keys AS keys FROM nodes WHERE id = @nodeId')
  const set = db.stmt<{ nodeId: string; keys: string }>('UPDATE nodes SET host_keys = @keys WHERE id = @nodeId')
  const of = (nodeId: string): string[] => JSON.parse(get.get({ nodeId })?.keys ?? '[]')
  return {
    /** One line per key; none of an unknown node. */
    of,
    /** With fingerprints, for people to compare. */
    shown: (nodeId: string): HostKey[] => of(nodeId).map(shown),
    /** Replaces all of them. @throws Fail 400 for a line that is not a public key */
    replace(nodeId: string, keys: string[]): HostKey[] {
      const distinct = [...new Set(keys)]
      const all = distinct.map(shown)
      set.run({ nodeId, keys: JSON.stringify(distinct) })
      return all
    },
  }
}
export type HostKeyStore = ReturnType<typeof hostKeyStore>

function shown(key: string, at: number): HostKey {
  try {
    return { fingerprint: fingerprint(key), type: key.split(' ')[0] as string }
  } catch (e) {
    throw invalid('Invalid host key', ['hostKeys', at], (e as Error).message)
  }
}
