import * as z from 'zod'
import type { Answer } from '../../kernel/http.ts'
import { API_PREFIX, HEADERS } from '../../wire/headers.ts'
import { AgentJob } from '../../wire/recordings.ts'
import {
  AssignmentsAnswer,
  accepted,
  BootstrapAnswer,
  ConfigAnswer,
  KeptAnswer,
  PairAnswer,
  readData,
} from './answers.ts'
import type { Http } from './http.ts'
import { type BeatAnswer, type Link, LinkError, type LiveChunk, type Upload } from './link.ts'
import { createReach, type ReachOptions } from './reach.ts'
import { Throttle } from './throttle.ts'
import { createDigests, headerText, uploadFile } from './upload.ts'

export interface LinkOptions extends ReachOptions {
  nodeId: string
  /** Kilobits per second for all uploads together; 0 or undefined: no limit. */
  uploadMaxKbps?: number
  /** The current node token; it may be replaced while the agent runs. */
  token: () => string | undefined
}

interface Call {
  /** Sent as JSON; `raw` as it is. */
  body?: unknown
  raw?: Uint8Array
  headers?: Record<string, string>
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT'
  signal?: AbortSignal
  token?: string
  waitMs?: number
}

/** A job this agent cannot parse must not block the queue: its ID is enough to report it. */
const Handed = z.array(z.union([AgentJob, z.object({ id: z.string().min(1) })]))

type Ask = (path: string, call?: Call) => Promise<Answer>
type Headers = Record<string, string>

function createHeaders({ nodeId, token: current }: LinkOptions): (token?: string) => Headers {
  return (token = current()) => {
    if (!token) throw new LinkError('no controller token')
    return { accept: 'application/json', authorization: `Bearer ${token}`, [HEADERS.agentId]: nodeId }
  }
}

/** One call with a JSON body, or none. */
function createAsk(http: Http, headers: (token?: string) => Headers): Ask {
  return async (path, { method = 'POST', body, raw, token, headers: more, signal, waitMs } = {}) => {
    const text = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const type: Headers = typeof text === 'string' ? { 'content-type': 'application/json' } : {}
    const sized: Headers = method === 'POST' ? { 'content-length': String(Buffer.byteLength(text ?? '')) } : {}
    return await http.ask({
      method,
      path: API_PREFIX + path,
      headers: { ...headers(token), ...type, ...sized, ...more },
      ...(text === undefined ? {} : { body: text }),
      ...(signal ? { signal } : {}),
      ...(waitMs === undefined ? {} : { waitMs }),
    })
  }
}

/** The only call without a credential: the code is one. */
async function pair(http: Http, code: string): ReturnType<Link['pair']> {
  const body = JSON.stringify({ code })
  const headers = {
    accept: 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'content-type': 'application/json',
  }
  const answer = await http.ask({ body, headers, method: 'POST', path: `${API_PREFIX}/nodes/pair` })
  return readData('the pairing code', answer, PairAnswer)
}

const jobPath = (id: string) => `/recording-jobs/${encodeURIComponent(id)}`

async function report(ask: Ask, id: string, end: 'cancelled' | 'failed', reason: string): Promise<void> {
  const answer = await ask(`${jobPath(id)}/${end}`, { headers: { [HEADERS.reason]: headerText(reason) } })
  accepted(`the report that a job ${end}`, answer)
}

async function readClaim(ask: Ask, answer: Answer): Promise<AgentJob[]> {
  if (answer.status === 204) return []
  const handed = readData('claim', answer, Handed)
  const unreadable = handed.filter((j) => !('command' in j))
  for (const { id } of unreadable) await report(ask, id, 'failed', 'agent_cannot_read_job')
  return handed.filter((j) => 'command' in j)
}

function uploadCall(http: Http, headers: () => Headers, maxKbps: number): Link['upload'] {
  const digests = createDigests()
  const throttle = new Throttle(maxKbps)
  return async (file, signal) => {
    const path = `${API_PREFIX}/recordings/${encodeURIComponent(file.recordingId)}/cache-file${uploadQuery(file)}`
    const about = {
      ...headers(),
      [HEADERS.durationSeconds]: String(file.durationSeconds),
      [HEADERS.fileName]: headerText(file.fileName),
      ...(file.jobId ? { [HEADERS.jobId]: headerText(file.jobId) } : {}),
      ...(file.details ? { [HEADERS.details]: encodeURIComponent(JSON.stringify(file.details)) } : {}),
    }
    await uploadFile({ digests, file, headers: about, http, path, signal, throttle })
  }
}

function uploadQuery({ chunk, chunkTotal, rendition }: Upload): string {
  const asked = Object.entries({ rendition, chunk, chunkTotal }).filter(([, value]) => value !== undefined)
  return asked.length > 0 ? `?${asked.map(([name, value]) => `${name}=${value}`).join('&')}` : ''
}

/** The config and its tag; undefined when it is unchanged. */
async function readConfig(ask: Ask, node: string, known: Parameters<Link['config']>[0]): ReturnType<Link['config']> {
  const answer = await ask(`${node}/config${known ? `?waitSeconds=${known.waitSeconds}` : ''}`, {
    method: 'GET',
    ...(known && {
      headers: { 'if-none-match': known.etag },
      signal: known.signal,
      waitMs: known.waitSeconds * 1000,
    }),
  })
  if (known && answer.status === 304) return undefined
  const config = readData('config', answer, ConfigAnswer)
  const { etag } = answer.headers
  return known && etag === known.etag ? undefined : { config, etag }
}

function readBeat(answer: Answer): BeatAnswer {
  const { kept } = answer.status === 204 ? {} : readData('the heartbeat', answer, KeptAnswer)
  const date = Date.parse(answer.headers.date ?? '')
  return { at: Number.isNaN(date) ? undefined : date, kept }
}

async function sendChunk(
  ask: Ask,
  node: string,
  { rendition, ...chunk }: LiveChunk,
  signal?: AbortSignal,
): Promise<void> {
  // The raw one goes without a query, as the contract has it.
  const answer = await ask(`${node}/listen/chunk${rendition === 'raw' ? '' : `?rendition=${rendition}`}`, {
    headers: {
      'content-type': 'audio/wav',
      [HEADERS.capturedAt]: new Date(chunk.capturedAt).toISOString(),
      [HEADERS.durationMs]: String(chunk.durationMs),
      [HEADERS.sequence]: String(chunk.sequence),
    },
    raw: chunk.audio,
    ...(signal ? { signal } : {}),
  })
  accepted('live audio', answer)
}

/** The link over HTTP. Throws LinkError at once when the address or the CA file may not be used. */
export function createLink(options: LinkOptions): Link {
  const http = createReach(options)
  const headers = createHeaders(options)
  const ask = createAsk(http, headers)
  const node = `/nodes/${encodeURIComponent(options.nodeId)}`
  return {
    bootstrap: async (token, body) => {
      const answer = readData('bootstrap', await ask(`${node}/bootstrap`, { body, token }), BootstrapAnswer)
      return { controllerToken: answer.controllerToken, ...(answer.fingerprint && { fingerprint: answer.fingerprint }) }
    },
    pair: (code) => pair(http, code),
    claim: async (holding, waitSeconds, signal, joinOnly = false) => {
      const path = `${node}/recording-jobs/claim-next-group?waitSeconds=${waitSeconds}`
      return readClaim(
        ask,
        await ask(path, {
          body: { holding, shares: true, ...(joinOnly ? { joinOnly } : {}) },
          signal,
          waitMs: waitSeconds * 1000,
        }),
      )
    },
    channelMapAssignments: async () => {
      const answer = await ask(`${node}/channel-map-assignments`, { method: 'GET' })
      return readData('the channel maps', answer, AssignmentsAnswer)
    },
    config: (known) => readConfig(ask, node, known),
    doctorReport: async (requestId, report) =>
      accepted('the report of the doctor', await ask(`${node}/doctor-report`, { body: { report, requestId } })),
    heartbeat: async (beat) => readBeat(await ask(`${node}/heartbeat`, { body: beat })),
    healthEvent: async (event) => accepted('a health event', await ask(`${node}/health-events`, { body: event })),
    inventory: async (interfaces) =>
      accepted('the inventory', await ask(`${node}/inventory`, { body: { interfaces } })),
    jobHeartbeat: async (id, progress, wait) => {
      const answer = await ask(`${jobPath(id)}/heartbeat${wait ? `?waitSeconds=${wait.seconds}` : ''}`, {
        ...(progress && { body: { progress } }),
        ...(wait && { signal: wait.signal, waitMs: wait.seconds * 1000 }),
      })
      return readData('the job heartbeat', answer, AgentJob)
    },
    listenChunk: (chunk, signal) => sendChunk(ask, node, chunk, signal),
    meterFrame: async (frame) => accepted('a meter frame', await ask(`${node}/meter-frame`, { body: frame })),
    meterFrames: async (frames) => accepted('meter frames', await ask(`${node}/meter-frames`, { body: { frames } })),
    offer: async (note) =>
      accepted('a take that was kept', await ask(`${node}/recording-jobs/offer`, { body: { note } })),
    readJob: async (id) => readData('reading a job', await ask(jobPath(id), { method: 'GET' }), AgentJob),
    reportCancelled: (id, reason) => report(ask, id, 'cancelled', reason),
    reportFailed: (id, reason) => report(ask, id, 'failed', reason),
    soundReading: async (reading) =>
      accepted('a sound reading', await ask(`${node}/sound-readings`, { body: reading })),
    upload: uploadCall(http, headers, options.uploadMaxKbps ?? 0),
    term: () => http.term(),
    close: () => http.close(),
  }
}
