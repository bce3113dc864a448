// The headers of every answer. Whoever makes their own Response passes it through `withDefaults`.

/** No content sniffing, no caching. */
export const ANSWER = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

/** A document shown by a browser loads only from here, cannot be framed, and sends no referrer. */
export const DOCUMENT = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "media-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types roomtone',
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'referrer-policy': 'no-referrer',
} as const

/** Content types that a browser renders as a document; audio and events are not. */
const SHOWN = /^(text\/(?!event-stream)|application\/(xhtml|xml|pdf)|image\/svg)/

/** Adds the headers a response does not set itself. */
export function withDefaults(response: Response): Response {
  const { headers } = response
  const shown = SHOWN.test(headers.get('content-type') ?? '')
  for (const [name, value] of Object.entries({ ...ANSWER, ...(shown ? DOCUMENT : {}) }))
    if (!headers.has(name)) headers.set(name, value)
  return response
}
