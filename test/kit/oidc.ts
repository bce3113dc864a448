// Identity providers on loopback: a real one (oidc-provider), and one that lies as a test wants it to.
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

export const CLIENT = { id: 'roomtone', secret: 'a-client-secret-0123456789' }

export type People = Record<string, Record<string, unknown>>

async function listen(handler: http.RequestListener): Promise<{ close(): Promise<void>; url: string }> {
  const server = http.createServer(handler)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** oidc-provider with its development forms: any password fits, the login is the account. */
export async function realProvider(redirectUri: string, people: People) {
  let handler: http.RequestListener = () => {}
  const at = await listen((request, response) => handler(request, response))
  const provider = new Provider(at.url, {
    claims: { email: ['email', 'email_verified'], openid: ['sub'], profile: ['name', 'groups', 'roles'] },
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ['authorization_code'],
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    conformIdTokenClaims: false,
    cookies: { keys: ['a-key-for-cookies'] },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    pkce: { required: () => true },
  })
  handler = provider.callback()
  return { ...at, issuer: at.url }
}

/** Walks through the provider's forms as a browser would; the address the provider sends the browser back to. */
export async function consented(authorizationUrl: string, account: string): Promise<URL> {
  const jar = new Map<string, string>()
  const go = async (url: string, body?: string): Promise<Response> => {
    const response = await fetch(url, {
      method: body ? 'POST' : 'GET',
      redirect: 'manual',
      headers: {
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
      },
      ...(body ? { body } : {}),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';')
      jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    return response
  }
  let at = new URL(authorizationUrl)
  const { origin } = at
  for (let step = 0; step < 10; step++) {
    const response = await go(at.href)
    const location = response.headers.get('location')
    if (location) {
      at = new URL(location, at)
      if (at.origin !== origin) return at
      continue
    }
    const prompt = /name="prompt" value="(\w+)"/.exec(await response.text())?.[1]
    const answered = await go(at.href, `prompt=${prompt}&login=${encodeURIComponent(account)}&password=any`)
    at = new URL(answered.headers.get('location') ?? '', at)
    if (at.origin !== origin) return at
  }
  throw new Error(`the provider's forms lead nowhere: ${at}`)
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export function jwt(claims: object, key: KeyObject, kid: string): string {
  const input = `${encoded({ alg: 'RS256', kid, typ: 'JWT' })}.${encoded(claims)}`
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

export interface Lies {
  /** Whole answer to a path, in place of the right one. */
  answers: Record<string, http.RequestListener>
  /** Laid over the claims of a good ID token. */
  claims: Record<string, unknown>
  /** Signs with a key that is not published, under the published key's name. */
  foreignKey: boolean
}

/** A provider whose token endpoint gives an ID token to any code, right but for what `lies` says. */
export async function lyingProvider() {
  const ours = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const lies: Lies = { answers: {}, claims: {}, foreignKey: false }
  let nonce = ''
  const at = await listen((request, response) => {
    const path = new URL(request.url ?? '/', 'http://x').pathname
    const lie = lies.answers[path]
    if (lie) return lie(request, response)
    const send = (body: object) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (path === '/.well-known/openid-configuration') return send(metadata(at.url))
    if (path === '/jwks')
      return send({ keys: [{ ...ours.publicKey.export({ format: 'jwk' }), alg: 'RS256', kid: 'one', use: 'sig' }] })
    const now = Math.floor(Date.now() / 1000)
    const good = {
      aud: CLIENT.id,
      exp: now + 300,
      iat: now,
      iss: at.url,
      nonce,
      sub: 'liar',
      email: 'liar@example.org',
    }
    const key = lies.foreignKey ? foreign.privateKey : ours.privateKey
    return send({
      access_token: 'x',
      expires_in: 300,
      id_token: jwt({ ...good, ...lies.claims }, key, 'one'),
      token_type: 'Bearer',
    })
  })
  return {
    ...at,
    lies,
    issuer: at.url,
    /** The nonce of a login that is under way. */
    expect: (authorizationUrl: string): void => {
      nonce = new URL(authorizationUrl).searchParams.get('nonce') ?? ''
    },
  }
}

const metadata = (issuer: string) => ({
  authorization_endpoint: `${issuer}/authorize`,
  id_token_signing_alg_values_supported: ['RS256'],
  issuer,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  token_endpoint: `${issuer}/token`,
})
