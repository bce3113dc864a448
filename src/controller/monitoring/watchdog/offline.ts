import type { HealthStore } from '../health/health.store.ts'
import type { Alarms } from './alarms.ts'
import type { Needed, SilentNode, WatchStore } from './watch.store.ts'

const STEM = 'node_offline'
const TYPE = 'watchdog.node_offline'

interface Parts {
  alarms: Alarms
  health: HealthStore
  offlineAfterSeconds: number
  store: WatchStore
}

/**
 * One unresolved alarm per node that is silent for too long, until it reports again. Returns the writes of a pass;
 * `heartbeatsExpected` is false until nodes have had time to report after an absence of the controller itself.
 */
export function offlineWatch({ alarms, health, offlineAfterSeconds, store }: Parts) {
  const endOf = (nodeId: string | undefined): string =>
    nodeId !== undefined && store.isRetired(nodeId) ? 'node_retired' : 'node_heartbeat_recovered'
  return (now: string, heartbeatsExpected: boolean): { changesAlarm: boolean; run: () => void }[] => {
    const toldOf = (node: SilentNode) => ({
      ...detailsOf(node, offlineAfterSeconds, now),
      ...needOf(node.alias, store.neededFor(node.id, now)),
    })
    const silent = new Map(store.silentNodes(now).map((node) => [node.id, node]))
    const open = health.alarms(TYPE)
    const alarmed = new Set(open.map((event) => event.nodeId))
    const followed = open.flatMap((event) => {
      const node = silent.get(event.nodeId ?? '')
      const heard = { lastSeenAt: now, offlineAfterSeconds }
      if (!node)
        return [{ changesAlarm: true, run: () => alarms.resolve(STEM, event.id, endOf(event.nodeId), heard, now) }]
      const details = () => detailsOf(node, offlineAfterSeconds, now)
      // Never repeated: an offline node is announced once.
      const run = () => alarms.update(STEM, event.id, 'critical', details(), false, now)
      return heartbeatsExpected ? [{ changesAlarm: false, run }] : []
    })
    const fresh = [...silent.values()].filter(({ id }) => heartbeatsExpected && !alarmed.has(id))
    const opened = fresh.map((node) => ({
      changesAlarm: true,
      run: () => void alarms.open(STEM, TYPE, 'critical', { nodeId: node.id }, toldOf(node), now),
    }))
    return [...followed, ...opened]
  }
}

/** What is at stake, in words. */
function needOf(alias: string, { next, now }: Needed): Record<string, unknown> {
  const sentences = [
    `${alias} does not report.`,
    ...(now.length > 0 ? [`It is to record now: ${now.join(', ')}.`] : []),
    ...(next ? [`The next recording there is ${next.name}.`] : []),
  ]
  return {
    message: sentences.join(' '),
    remedy:
      'Check its power and its network. A recording under way goes on as long as it has power, and arrives later.',
    ...(next ? { nextStart: next.startAt } : {}),
  }
}

const detailsOf = (node: SilentNode, offlineAfterSeconds: number, now: string): Record<string, unknown> => ({
  alias: node.alias,
  hostname: node.hostname,
  ipAddresses: JSON.parse(node.ipAddresses),
  lastSeenAt: node.lastSeenAt,
  location: {
    room: node.room,
    site: node.site,
    ...(node.building === null ? {} : { building: node.building }),
    ...(node.floor === null ? {} : { floor: node.floor }),
  },
  nodeId: node.id,
  offlineAfterSeconds,
  offlineForSeconds: Math.floor((Date.parse(now) - Date.parse(node.lastSeenAt)) / 1000),
  reportedStatus: node.status,
  tags: JSON.parse(node.tags),
})
