import * as z from 'zod'
import { API_PREFIX, HEADERS } from '../../wire/headers.ts'
import { AgentJob } from '../../wire/recordings.ts'
import { accepted, BootstrapAnswer, ConfigAnswer, readData } from './answers.ts'
import { type Answer, createHttp, type HttpOptions } from './http.ts'
import { type Link, LinkError } from './link.ts'
import { createDigests, headerText, uploadFile } from './upload.ts'

export interface LinkOptions extends HttpOptions {
  nodeId: string
  /** The node token of the moment; it may be replaced while the agent runs. */
  token: () => string | undefined
}

interface Call {
  body?: unknown
  headers?: Record<string, string>
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT'
  signal?: AbortSignal
  token?: string
  waitMs?: number
}

/** A job this agent cannot read must not block the queue behind it: it is told apart by its id. */
const Handed = z.array(z.union([AgentJob, z.object({ id: z.string().min(1) })]))

/** The link over HTTP. Throws LinkError at once when the address or the CA file may not be used. */
export function createLink(options: LinkOptions): Link {
  const http = createHttp(options)
  const digests = createDigests()
  const node = `/nodes/${encodeURIComponent(options.nodeId)}`

  const headers = (token = options.token()): Record<string, string> => {
    if (!token) throw new LinkError('there is no controller token')
    return { accept: 'application/json', authorization: `Bearer ${token}`, [HEADERS.agentId]: options.nodeId }
  }
  const call = (path: string, { method = 'POST', body, token, headers: more, signal, waitMs }: Call = {}) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const type: Record<string, string> = text === undefined ? {} : { 'content-type': 'application/json' }
    const sized: Record<string, string> =
      method === 'POST' ? { 'content-length': String(Buffer.byteLength(text ?? '')) } : {}
    return http.ask({
      method,
      path: API_PREFIX + path,
      headers: { ...headers(token), ...type, ...sized, ...more },
      ...(text === undefined ? {} : { body: text }),
      ...(signal ? { signal } : {}),
      ...(waitMs === undefined ? {} : { waitMs }),
    })
  }
  const job = (id: string) => `/recording-jobs/${encodeURIComponent(id)}`
  const report = async (id: string, end: 'cancelled' | 'failed', reason: string): Promise<void> => {
    const answer = await call(`${job(id)}/${end}`, { headers: { [HEADERS.reason]: headerText(reason) } })
    accepted(`the report that a job ${end}`, answer)
  }
  const readClaim = async (answer: Answer): Promise<AgentJob[]> => {
    if (answer.status === 204) return []
    const handed = readData('claim', answer, Handed)
    const unreadable = handed.filter((j) => !('command' in j))
    for (const { id } of unreadable) await report(id, 'failed', 'agent_cannot_read_job')
    return handed.filter((j) => 'command' in j)
  }

  return {
    bootstrap: async (token, body) => {
      const answer = readData('bootstrap', await call(`${node}/bootstrap`, { body, token }), BootstrapAnswer)
      return { controllerToken: answer.controllerToken, ...(answer.fingerprint && { fingerprint: answer.fingerprint }) }
    },
    claim: async (holding, waitSeconds, signal) => {
      const path = `${node}/recording-jobs/claim-next-group?waitSeconds=${waitSeconds}`
      return readClaim(await call(path, { body: { holding }, signal, waitMs: waitSeconds * 1000 }))
    },
    config: async () => readData('config', await call(`${node}/config`, { method: 'GET' }), ConfigAnswer),
    heartbeat: async (beat) => {
      const answer = await call(`${node}/heartbeat`, { body: beat })
      accepted('the heartbeat', answer)
      const date = Date.parse(answer.headers.date ?? '')
      return Number.isNaN(date) ? undefined : date
    },
    healthEvent: async (event) => accepted('a health event', await call(`${node}/health-events`, { body: event })),
    inventory: async (interfaces) =>
      accepted('the inventory', await call(`${node}/inventory`, { body: { interfaces } })),
    jobHeartbeat: async (id) => readData('the job heartbeat', await call(`${job(id)}/heartbeat`), AgentJob),
    readJob: async (id) => readData('reading a job', await call(job(id), { method: 'GET' }), AgentJob),
    reportCancelled: (id, reason) => report(id, 'cancelled', reason),
    reportFailed: (id, reason) => report(id, 'failed', reason),
    upload: async (file, signal) => {
      const query = file.rendition ? `?rendition=${file.rendition}` : ''
      const path = `${API_PREFIX}/recordings/${encodeURIComponent(file.recordingId)}/cache-file${query}`
      const about = {
        ...headers(),
        [HEADERS.durationSeconds]: String(file.durationSeconds),
        [HEADERS.fileName]: headerText(file.fileName),
        ...(file.jobId ? { [HEADERS.jobId]: headerText(file.jobId) } : {}),
      }
      await uploadFile({ digests, file, headers: about, http, path, signal })
    },
    close: () => http.close(),
  }
}
