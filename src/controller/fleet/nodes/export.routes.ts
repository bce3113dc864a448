import { Fail } from '../../../kernel/fail.ts'
import { NodeExport, NodeFilters } from '../../../wire/nodes.ts'
import { type Column, csvExport } from '../../http/csv.ts'
import { type AnyRoute, stream } from '../../http/route.ts'
import type { visibilities } from '../../http/visibility.ts'
import type { InterfaceFacts } from './interfaces.store.ts'
import type { ExportedNode, NodeStore } from './nodes.store.ts'

const shared = {
  path: '/nodes/export',
  auth: 'user',
  permission: 'node:read',
  target: () => ({ type: 'node_collection' }),
} as const

export const nodeExportRoutes = (nodes: NodeStore, visibility: ReturnType<typeof visibilities>): AnyRoute[] => [
  stream({
    method: 'GET',
    ...shared,
    action: 'nodes.export',
    query: NodeFilters,
    run: async ({ principal, query, now }) => ({
      response: csv(nodes.exported(visibility(principal, 'node:read'), query, now), now),
    }),
  }),
  stream({
    method: 'POST',
    ...shared,
    action: 'nodes.export_selected',
    body: NodeExport,
    run: async ({ principal, body, now }) => {
      const wanted = [...new Set(body.nodeIds)]
      const chosen = nodes.chosen(visibility(principal, 'node:read'), wanted, now)
      if (chosen.length < wanted.length)
        throw new Fail(404, 'node_not_visible', 'One or more nodes are not visible', { outcome: 'denied' })
      return { response: csv([chosen], now), details: { nodeCount: chosen.length } }
    },
  }),
]

const csv = (slices: Iterable<ExportedNode[]>, now: string): Response =>
  csvExport({ columns: COLUMNS, kind: 'nodes', now, quoting: 'needed', slices })

const listed = (values: readonly unknown[] | undefined): string => (values ?? []).join('; ')

const COLUMNS: readonly Column<ExportedNode>[] = [
  ['id', (n) => n.id],
  ['alias', (n) => n.alias],
  ['status', (n) => n.status],
  ['site', (n) => n.location.site],
  ['building', (n) => n.location.building],
  ['floor', (n) => n.location.floor],
  ['room', (n) => n.location.room],
  ['hostname', (n) => n.hostname],
  ['ip_addresses', (n) => listed(n.ipAddresses)],
  ['agent_version', (n) => n.agentVersion],
  ['last_seen_at', (n) => n.lastSeenAt],
  ['os_name', (n) => n.runtime?.osName],
  ['kernel_release', (n) => n.runtime?.kernelRelease],
  ['architecture', (n) => n.runtime?.architecture],
  ['audio_backends', (n) => listed(n.runtime?.audioBackends)],
  ['max_concurrent_recordings', (n) => n.recordingCapacity?.maxConcurrentRecordings ?? 1],
  ['interface_count', (n) => n.interfaces.length],
  ['interfaces', (n) => listed(n.interfaces.map(summary))],
  ['tags', (n) => listed(n.tags)],
  ['notes', (n) => n.notes],
]

// `<alias> [<backend>] <systemName> channels=<n> rates=<a/b> serial=<s> path=<p>`, what is not known left out.
const summary = (i: InterfaceFacts): string =>
  [
    `${i.alias} [${i.backend}] ${i.systemName} channels=${i.channelCount}`,
    ...(i.sampleRates.length > 0 ? [`rates=${i.sampleRates.join('/')}`] : []),
    ...(i.serialNumber ? [`serial=${i.serialNumber}`] : []),
    ...(i.hardwarePath ? [`path=${i.hardwarePath}`] : []),
  ].join(' ')
