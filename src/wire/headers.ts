/** Request headers of the agent protocol, lower case. */
export const HEADERS = {
  agentId: 'x-svc-agent-id',
  capturedAt: 'x-svc-captured-at',
  durationMs: 'x-svc-duration-ms',
  durationSeconds: 'x-svc-duration-seconds',
  fileName: 'x-svc-file-name',
  jobId: 'x-svc-recording-job-id',
  reason: 'x-svc-reason',
  rendition: 'x-svc-rendition',
  sequence: 'x-svc-sequence',
  /** Of a login: `cookie` asks for a session that no script can read. */
  session: 'x-svc-session',
  sessionId: 'x-svc-session-id',
  /** Of every answer of a controller that holds a lease: its term. Of a recorder's requests: the highest it has seen. */
  term: 'x-svc-term',
  /** How a rendition was made: `RenditionDetails` as percent-encoded JSON. */
  details: 'x-svc-rendition-details',
  /** RFC 9530: `sha-256=:<base64>:`. */
  contentDigest: 'content-digest',
  /** IETF resumable uploads: structured-field boolean `?1` / `?0`. */
  uploadComplete: 'upload-complete',
  uploadLength: 'upload-length',
  uploadOffset: 'upload-offset',
} as const

export const API_PREFIX = '/api/v1'
