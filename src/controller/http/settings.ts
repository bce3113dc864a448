import * as z from 'zod'
import { choice, count, port, type SettingsTable, secret, webUrl } from '../../kernel/settings.ts'

/** Where the controller listens, and the limits per caller. */
export const HTTP_SETTINGS = {
  SVC_HOST: [z.string().default('127.0.0.1'), 'address to listen on'],
  SVC_PORT: [port.optional(), 'port to listen on, 0 = any free one; PORT is honoured when this is unset (8787)'],
  SVC_PUBLIC_URL: [
    webUrl.optional(),
    'address at which people and recorders reach this controller (default: the one a request names)',
  ],
  SVC_RUNNER_TOKEN: [secret.optional(), 'lets the lifecycle runner fetch SSH key material'],
  SVC_METRICS_TOKEN: [secret.optional(), 'static token that reads /metrics, and nothing else, beside user sessions'],
  SVC_WEB_ORIGIN: [z.url().default('http://localhost:5173'), 'origin allowed to call the API from a browser'],
  SVC_TRUSTED_PROXIES: [z.string().default(''), 'comma list of peers whose X-Forwarded-For is believed'],
  SVC_ALLOW_PLAIN_HTTP: [
    choice(false),
    'listen without TLS where other machines reach it (a private network of containers)',
  ],
  SVC_API_TLS_CERT_PATH: [
    z.string().optional(),
    'PEM certificate; serves HTTPS together with the key. Replaced files are taken within seconds, or at SIGHUP',
  ],
  SVC_API_TLS_KEY_PATH: [z.string().optional(), 'PEM private key'],
  SVC_API_TLS_CA_PATH: [z.string().optional(), 'PEM authorities of that certificate, sent along with it'],
  SVC_API_TLS_CLIENT_CERT_MODE: [
    z.enum(['off', 'optional', 'required']).default('off'),
    'whether clients are asked for a certificate: off, optional or required',
  ],
  SVC_API_TLS_CLIENT_CA_PATH: [
    z.string().optional(),
    'PEM authorities of client certificates (default: SVC_API_TLS_CA_PATH)',
  ],
  SVC_API_TLS_NEXT_CERT_PATH: [z.string().optional(), 'PEM certificate that takes over one day, checked at the start'],
  SVC_API_TLS_NEXT_KEY_PATH: [z.string().optional(), 'PEM private key of the next certificate'],
  SVC_API_TLS_NEXT_NOT_BEFORE: [
    z.iso.datetime({ offset: true, error: 'expected a time such as 2026-03-02T09:00:00Z' }).optional(),
    'when the next certificate takes over',
  ],
  SVC_TOKEN_FAILURE_LIMIT: [count(1000), 'refused tokens per address and window before 429'],
  SVC_STRANGER_REFUSALS_PER_MINUTE: [
    count(60),
    'audit rows for refused strangers per address (of IPv6 its /64) and minute; beyond it 429 and one row with a count',
  ],
  SVC_USER_REQUESTS_PER_MINUTE: [count(6000), 'requests per account and minute before 429'],
} as const satisfies SettingsTable
