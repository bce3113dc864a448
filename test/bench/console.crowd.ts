// Recorders that record nothing, and people who look on: what the console shows, and what the controller does meanwhile.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, connect, paced } from './connection.ts'
import { bytesOf } from './load.ts'
import { beatOf, type Enrolled, type Fleet } from './world.ts'

const EVERY_MS = 5000
const WAIT_SECONDS = 25
const CLAIM = JSON.stringify({ holding: [], shares: true })
/** Frames with other levels each: the meters move. */
const VARIANTS = 5

/** How the meters of all recorders are sent; may change at any time. */
export interface Pace {
  /** Heartbeats, claims and frames that were refused or lost. */
  refused: number
  /** Quick frames a second beside the whole one, as recorders send them that somebody watches; undefined: no frames at all. */
  quick: number | undefined
}

/** Levels of one frame: JSON, without the id of the node. */
function framesOf(channels: number, quick: boolean): string[] {
  const quality = { crestFactorDb: 13.4, noiseScore: 0.21, speechLike: true, speechScore: 0.74, zeroCrossingRate: 0.06 }
  const level = (variant: number) => (_: unknown, i: number) => ({
    ...{ channelIndex: i + 1, clipping: false, label: `Input ${i + 1}` },
    ...{ peakDbfs: -3 - ((variant * 17 + i * 5) % 50), rmsDbfs: -15 - ((variant * 17 + i * 5) % 50) },
    ...(quick ? {} : { quality }),
  })
  return Array.from({ length: VARIANTS }, (_, variant) =>
    JSON.stringify(Array.from({ length: channels }, level(variant))),
  )
}

/** Heartbeats, the open polls for config and work, and the meters of every node, until the signal. */
export async function crowd(
  { controller }: Fleet,
  nodes: readonly Enrolled[],
  pace: Pace,
  channels: number,
  signal: AbortSignal,
): Promise<void> {
  const [whole, quick] = [framesOf(channels, false), framesOf(channels, true)]
  const one = async ({ id, token }: Enrolled, n: number): Promise<void> => {
    const api = (method: string, route: string, body?: string, headers: Record<string, string> = {}) =>
      bytesOf({ method, path: `/api/v1/nodes/${id}${route}`, token, headers, ...(body === undefined ? {} : { body }) })
    const frame = (levels: string, mark: string) => {
      const head = `"capturedAt":"${new Date().toISOString()}","interfaceId":"hw:CARD=USB,DEV=0","nodeId":"${id}"${mark}`
      return api('POST', '/meter-frame', `{${head},"levels":${levels}}`)
    }
    let count = n
    const own = Array.from({ length: 5 }, () => patient(controller.url, pace, signal))
    const [beats, polls, claims, meter, fast] = own as [Patient, Patient, Patient, Patient, Patient]
    const post = (ask: Patient, from: string[], mark: string) => ask(frame(from[count++ % VARIANTS] as string, mark))
    const claim = api('POST', `/recording-jobs/claim-next-group?waitSeconds=${WAIT_SECONDS}`, CLAIM)
    await sleep((EVERY_MS * n) / nodes.length, undefined, { signal })
    await Promise.all([
      paced(EVERY_MS, signal, () => beats(api('POST', '/heartbeat', beatOf(n)))),
      config(polls, api, signal),
      paced(0, signal, () => claims(claim)),
      paced(1000, signal, async () => pace.quick !== undefined && (await post(meter, whole, ''))),
      paced(250, signal, async () => pace.quick && (await post(fast, quick, ',"quick":true'))),
    ])
  }
  await Promise.all(nodes.map(one)).catch((e) => {
    if (!signal.aborted) throw e
  })
}

/** Asks on a connection that is made when it is needed; @returns the head of the answer, '' when there was none. */
type Patient = (request: Buffer) => Promise<string>

/** A recorder whose word is refused or lost goes on. */
function patient(url: string, pace: Pace, signal: AbortSignal): Patient {
  let conn: Connection | undefined
  signal.addEventListener('abort', () => conn?.close())
  return async (request) => {
    try {
      conn ??= await connect(url)
      return await conn.ask(request)
    } catch {
      if (!signal.aborted) pace.refused++
      conn?.close()
      conn = undefined
      await sleep(1000, undefined, { signal })
      return ''
    }
  }
}

type Api = (method: string, route: string, body?: string, headers?: Record<string, string>) => Buffer

/** The configuration, and then whatever it becomes. */
async function config(ask: Patient, api: Api, signal: AbortSignal): Promise<void> {
  for (let etag = ''; !signal.aborted; ) {
    const headers: Record<string, string> = etag ? { 'if-none-match': etag } : {}
    const head = await ask(api('GET', `/config${etag ? `?waitSeconds=${WAIT_SECONDS}` : ''}`, undefined, headers))
    etag = /\r\netag: (\S+)/i.exec(head)?.[1] ?? etag
  }
}

const OTHER = { email: 'other@roomtone.local', name: 'Other', password: 'bench-password-4567' }

/** Change streams, read to their end: so many, of two people since nobody may have all of them. @returns how to end them */
export async function lookers({ call, controller, token }: Fleet, count: number): Promise<() => void> {
  await call('POST', '/auth/users', { ...OTHER, roles: ['viewer'] })
  const other = (await call('POST', '/auth/login', { email: OTHER.email, password: OTHER.password })).data.token
  const over = new AbortController()
  for (let n = 0; n < count; n++) {
    const headers = { authorization: `Bearer ${n % 2 === 0 ? token : other}` }
    const answer = await fetch(`${controller.url}/api/v1/events`, { headers, signal: over.signal })
    if (!answer.ok) throw new Error(`/events answered ${answer.status}`)
    void answer.body?.pipeTo(new WritableStream()).catch(() => {})
  }
  return () => over.abort()
}
