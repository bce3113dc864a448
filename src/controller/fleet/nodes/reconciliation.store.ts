import type { InterfaceInput, ReconcileSummary } from '../../../wire/nodes.ts'
import type { InterfaceFacts } from './interfaces.store.ts'
import type { NodeStore } from './nodes.store.ts'

/** What a report of devices changed, and what the audit says of it. */
export interface Reconciliation {
  after: Record<string, unknown>
  before: Record<string, unknown>
  changed: boolean
  counts: Record<string, number>
  summary: ReconcileSummary
}

const told = ({ absent, channelCount, id, sampleRates, systemName, systemRef }: InterfaceFacts) => ({
  ...{ id, systemName, systemRef },
  ...{ absent: absent === 1, channelCount, sampleRates },
})

/** Brings the interfaces of a node in line with a report. */
export function reconciliation(
  { interfaces }: Pick<NodeStore, 'interfaces'>,
  nodeId: string,
  reported: readonly InterfaceInput[],
): Reconciliation {
  const facts = () => ({ interfaces: (interfaces.facts([nodeId]).get(nodeId) ?? []).map(told) })
  const before = facts()
  const summary = interfaces.apply(nodeId, reported)
  const { unchanged, ...found } = summary
  const lists = { ...found, removed: found.removed ?? [] }
  const counts = Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, list.length]))
  return {
    after: { ...lists, ...facts(), interfaceCount: reported.length },
    before,
    changed: Object.values(counts).some((count) => count > 0),
    counts: { ...counts, unchanged },
    summary,
  }
}
