// The house of the schedules, its recorder reporting, and what is foreseen of it.
import type { Kit } from '../../../kit/kit.ts'
import { type House, house } from '../../schedules/world.ts'

export interface Told {
  details: Record<string, unknown>
  id: string
  kind: string
  nodeId: string | null
  reason: string | null
  scheduleId: string | null
  severity: string
  status: string
}

export interface Foresight extends House {
  /** What the recorder's heartbeats say of it. */
  runtime: Record<string, unknown>
  /** Sends a heartbeat. */
  beat(): Promise<void>
  /** The inventory of its devices. */
  plug(...interfaces: object[]): Promise<void>
  /** Lets time pass as it does: a heartbeat and a pass every ten seconds; `silent`: without heartbeats. */
  pass(seconds: number, silent?: boolean): Promise<void>
  told(): Told[]
}

export const desk = {
  ...{
    alias: 'Desk',
    backend: 'alsa',
    channelCount: 4,
    sampleRates: [48000],
    systemName: 'Desk',
    systemRef: 'hw:Desk',
  },
}

const told = (k: Kit): Told[] =>
  k
    .rows<Omit<Told, 'details'> & { details: string }>(
      `SELECT id, substr(type, 11) AS kind, severity, status, node_id AS nodeId, schedule_id AS scheduleId, details,
         json_extract(details, '$.autoResolvedReason') AS reason
         FROM health_events WHERE type LIKE 'foresight.%' ORDER BY opened_at, type, seq`,
    )
    .map((row) => ({ ...row, details: JSON.parse(row.details) }))

/** A recorder that has reported for a while, and no schedule yet. */
export async function watched(options: Parameters<typeof house>[0] = {}): Promise<Foresight> {
  const world = await house(options)
  const { agent, k, nodeId } = world
  const runtime: Record<string, unknown> = { audioBackends: ['alsa'] }
  const beat = async () => {
    const body = { agentVersion: '1.0.0', hostname: 'desk', ipAddresses: [], runtime }
    const { status, text } = await agent.post(`/nodes/${nodeId}/heartbeat`, body)
    if (status !== 202) throw new Error(text)
  }
  const pass = async (seconds: number, silent = false) => {
    for (let left = seconds; left > 0; left -= 10) {
      k.advance('10s')
      if (!silent) await beat()
      for (const runner of ['schedule', 'foresight']) await k.tick(runner)
    }
  }
  const plug = async (...interfaces: object[]) => {
    const { status, text } = await agent.post(`/nodes/${nodeId}/inventory`, { interfaces })
    if (status !== 202) throw new Error(text)
  }
  await plug(desk)
  await pass(130)
  k.forget()
  return { ...world, beat, pass, plug, runtime, told: () => told(k) }
}

/** `kind severity status`, or how it ended. */
export const lines = ({ told }: Pick<Foresight, 'told'>): string[] =>
  told().map(({ kind, reason, severity, status }) => `${kind} ${severity} ${reason ?? status}`)
