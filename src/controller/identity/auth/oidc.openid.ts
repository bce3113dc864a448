// The identity provider, through openid-client. The library is loaded at the first login: most controllers never need it.
import type { Configuration, CustomFetch } from 'openid-client'
import { Fail } from '../../../kernel/fail.ts'
import { ask } from '../../../kernel/http.ts'
import { issuerFault, type OidcSettings, plainIssuer } from './oidc.rules.ts'

interface Discovered {
  authorizationEndpoint: string
  issuer: string
  jwksUri: string
  tokenEndpoint: string
  userinfoEndpoint?: string
}

/** What a login carries from its start to its callback. */
export interface Attempt {
  nonce: string
  state: string
  verifier: string
}

/** Claims of an ID token whose signature, issuer, audience, time and nonce are good. */
type Claims = Record<string, unknown>

const TIMEOUT_SECONDS = 10
const LARGEST_ANSWER = 1024 * 1024
const KNOWN_FOR_MS = 600_000

type Library = typeof import('openid-client')

/** `reason` is for audit and answer; it never contains the provider's text, which may repeat what it was sent. */
const failure = (status: 400 | 401 | 404 | 502, reason: string, error: string, why?: string): Fail =>
  new Fail(status, reason, error, { body: { reason }, ...(why ? { details: { why } } : {}) })

export function identityProvider(settings: OidcSettings, monotonic: () => number) {
  let known: { at: number; config: Configuration } | undefined

  const load = async (error: string): Promise<{ config: Configuration; lib: Library }> => {
    const lib = await import('openid-client')
    if (!settings.enabled) throw failure(404, 'oidc_disabled', error)
    const { clientId, issuer, redirectUri } = settings
    if (!clientId || !issuer || !redirectUri || issuerFault(issuer, settings.insecure))
      throw failure(400, 'oidc_not_configured', error)
    if (!known || monotonic() - known.at > KNOWN_FOR_MS) {
      known = { at: monotonic(), config: await discover(lib, settings, plainIssuer(issuer), clientId, error) }
    }
    return { config: known.config, lib }
  }

  return {
    /** @throws Fail 404 disabled, 400 not configured, 502 when the provider's answer is unusable. */
    async metadata(error: string): Promise<Discovered> {
      const { config } = await load(error)
      const found = config.serverMetadata()
      return {
        authorizationEndpoint: found.authorization_endpoint ?? '',
        issuer: found.issuer,
        jwksUri: found.jwks_uri ?? '',
        tokenEndpoint: found.token_endpoint ?? '',
        ...(found.userinfo_endpoint ? { userinfoEndpoint: found.userinfo_endpoint } : {}),
      }
    },
    /** Where to send the browser, and what its callback must match. */
    async begin(): Promise<{ attempt: Attempt; url: URL }> {
      const { config, lib } = await load('OIDC login unavailable')
      const attempt = { nonce: lib.randomNonce(), state: lib.randomState(), verifier: lib.randomPKCECodeVerifier() }
      const url = lib.buildAuthorizationUrl(config, {
        code_challenge: await lib.calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
        nonce: attempt.nonce,
        redirect_uri: settings.redirectUri ?? '',
        scope: settings.scopes.join(' '),
        state: attempt.state,
      })
      return { attempt, url }
    },
    /**
     * Exchanges the code of a callback.
     * @throws Fail 401 for a token that is not for this login, 502 for any other refusal of the provider.
     */
    async claims(query: URLSearchParams, attempt: Attempt): Promise<Claims> {
      const { config, lib } = await load('OIDC callback failed')
      const url = new URL(settings.redirectUri ?? '')
      url.search = query.toString()
      try {
        const tokens = await lib.authorizationCodeGrant(config, url, {
          expectedNonce: attempt.nonce,
          expectedState: attempt.state,
          idTokenExpected: true,
          pkceCodeVerifier: attempt.verifier,
        })
        return { ...tokens.claims() }
      } catch (e) {
        throw refusal(e)
      }
    },
  }
}
export type IdentityProvider = ReturnType<typeof identityProvider>

async function discover(
  lib: Library,
  settings: OidcSettings,
  issuer: string,
  clientId: string,
  error: string,
): Promise<Configuration> {
  const secret = settings.clientSecret
  try {
    const config = await lib.discovery(
      new URL(issuer),
      clientId,
      undefined,
      secret === undefined ? lib.None() : lib.ClientSecretPost(secret),
      {
        [lib.customFetch]: bounded,
        execute: settings.insecure ? [lib.allowInsecureRequests] : [],
        timeout: TIMEOUT_SECONDS,
      },
    )
    // The signature is verified although the token came straight from the provider: it must be made with a published key.
    lib.enableNonRepudiationChecks(config)
    const { authorization_endpoint, jwks_uri, token_endpoint } = config.serverMetadata()
    if (!authorization_endpoint || !jwks_uri || !token_endpoint)
      throw failure(502, 'oidc_invalid_discovery_document', error)
    return config
  } catch (e) {
    if (e instanceof Fail) throw e
    const code = (e as { code?: string }).code ?? ''
    const document = /JSON|ATTRIBUTE|PARSE|INVALID_RESPONSE/.test(code)
    throw failure(502, document ? 'oidc_invalid_discovery_document' : 'oidc_discovery_failed', error, code)
  }
}

/** The provider is not trusted either: an endless answer must not fill the memory. */
const bounded: CustomFetch = async (url, { body, headers, method, signal }) => {
  const answer = await ask({
    body: body ? String(body) : undefined,
    headers,
    maxBytes: LARGEST_ANSWER,
    method: method as 'GET' | 'POST',
    signal,
    url: new URL(url),
  })
  const kept = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string])
  return new Response(answer.text || null, { headers: kept, status: answer.status })
}

// A failed comparison or time of the token means that it is not for this login; anything else is the provider's fault.
const CLAIMS = /CLAIM_COMPARISON|TIMESTAMP/
const ERROR_CODE = /^[\w.-]{1,60}$/

function refusal(e: unknown): Fail {
  const { code = '', error } = e as { code?: string; error?: unknown }
  if (CLAIMS.test(code)) return failure(401, 'oidc_claims_invalid', 'OIDC callback failed', code)
  const why = typeof error === 'string' && ERROR_CODE.test(error) ? error : code
  return failure(502, 'oidc_authorization_failed', 'OIDC callback failed', why)
}
