// A take under way on a node with a desk of four channels, watched by a policy whose times are short.
import assert from 'node:assert/strict'
import { type Kit, kit } from '../../../kit/kit.ts'

export interface Level {
  channelIndex?: number
  clipping?: boolean
  correlation?: { peer: number; score: number }
  peak?: number
  quality?: object
  rms?: number
}

const QUALITY = { crestFactorDb: 12, noiseScore: 0.1, speechLike: true, speechScore: 0.8, zeroCrossingRate: 0.1 }

/** A level as an agent sends it; loud speech where nothing else is said. */
export const level = ({ channelIndex = 1, clipping = false, correlation, peak, quality, rms = -20 }: Level = {}) => ({
  channelIndex,
  clipping,
  label: `Input ${channelIndex}`,
  peakDbfs: peak ?? Math.min(rms + 6, 0),
  rmsDbfs: rms,
  quality: {
    ...QUALITY,
    ...quality,
    ...(correlation
      ? { channelCorrelation: { peerChannelIndex: correlation.peer, phase: 'same', score: correlation.score } }
      : {}),
  },
})

const desk = (name: string) => ({
  alias: name,
  systemName: name,
  systemRef: `hw:CARD=${name},DEV=0`,
  backend: 'alsa',
  channelCount: 4,
  sampleRates: [48_000],
  channels: [1, 2, 3, 4].map((index) => ({ alias: `Input ${index}`, index })),
})

export type Frame = Partial<ReturnType<typeof level>>[]

/** Evaluation starts 90 s after the take (grace 30 s, window 60 s); alarms repeat every 120 s. */
export const POLICY = {
  activeDuring: 'recording',
  graceSeconds: 30,
  minCumulativeSecondsAboveThreshold: 10,
  name: 'Short',
  repeatEverySeconds: 120,
  severity: 'critical',
  thresholdDbfs: -45,
  windowSeconds: 60,
}

/** Only one rule on: what the others would say about the same sound is left out. */
export const ONLY = {
  signal: { channelCorrelationMode: 'off', clippingMode: 'off', flatlineMode: 'off', qualityAlertMode: 'off' },
}

export async function watched(policy: object = {}, start: object = {}, env: Record<string, string> = {}) {
  const k = kit({ env })
  const { agent, id, node } = await k.enroll('Hall recorder', {
    interfaces: [desk('Desk'), desk('Stage')],
    recordingCapacity: { maxConcurrentRecordings: 4 },
  })
  const made = await k.as('admin').post('/settings/watchdog-policies', { ...POLICY, ...policy })
  assert.equal(made.status, 201, made.text)
  const ref = (name: string) => `hw:CARD=${name},DEV=0`
  const interfaceId = (name: string): string =>
    node.interfaces.find((i: { systemRef: string }) => i.systemRef === ref(name)).id
  const record = async (more: object = {}): Promise<string> => {
    const answer = await k.as('admin').post('/recordings', {
      captureChannelSelection: [1, 2],
      captureInterfaceId: interfaceId('Desk'),
      nodeId: id,
      ...start,
      ...more,
    })
    assert.equal(answer.status, 202, answer.text)
    const { id: recordingId } = answer.json.data
    k.sql('UPDATE recordings SET watchdog_policy_id = ? WHERE id = ?', made.json.data.id, recordingId)
    return recordingId
  }
  const beat = () =>
    agent.post(`/nodes/${id}/heartbeat`, { agentVersion: '1.0.0', hostname: 'hall', ipAddresses: [], status: 'online' })
  const send = async (levels: object[], name = 'Desk', more: object = {}) => {
    const answer = await agent.post(`/nodes/${id}/meter-frame`, {
      capturedAt: k.now(),
      interfaceId: ref(name),
      levels,
      nodeId: id,
      ...more,
    })
    assert.equal(answer.status, 202, answer.text)
  }
  /** Frames every five seconds and a pass every thirty, for a while. */
  const hear = async (seconds: number, frame: (() => Promise<void>) | object[] | undefined) => {
    for (let at = 5; at <= seconds; at += 5) {
      k.advance('5s')
      if (at % 30 === 5) await beat()
      if (typeof frame === 'function') await frame()
      else if (frame) await send(frame)
      if (at % 30 === 0) await k.tick('watchdog')
    }
  }
  return { agent, beat, hear, id, interfaceId, k, policyId: made.json.data.id as string, record, send }
}
export type World = Awaited<ReturnType<typeof watched>>

interface Seen {
  details: Record<string, unknown>
  id: string
  severity: string
  status: string
  type: string
}

/** Health events of the watchdog, oldest first. */
export const events = (k: Kit, type = ''): Seen[] =>
  k
    .rows<{ details: string }>(
      `SELECT id, type, status, severity, details FROM health_events WHERE type LIKE ? ORDER BY seq`,
      `watchdog.${type}%`,
    )
    .map((row) => ({ ...row, details: JSON.parse(row.details) })) as never

/** `type status` of each. */
export const stand = (k: Kit): string[] => events(k).map((e) => `${e.type.replace('watchdog.', '')} ${e.status}`)

/** Audit rows of the watchdog. */
export const told = (k: Kit): string[] => k.trail().filter((line) => line.startsWith('health.watchdog.'))
