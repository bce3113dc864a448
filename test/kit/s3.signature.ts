// Signatures of AWS (SigV4), in the header or, as a link has it, in the address.
import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export const hex = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
export const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest()
const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

export class Refusal extends Error {
  readonly code: string
  readonly status: number

  constructor(status: number, code: string, message: string) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** What signatures of chunks go on from. */
export interface Signed {
  date: string
  key: Buffer
  scope: string
  seed: string
}

interface Keys {
  accessKeyId: string
  secretAccessKey: string
}

interface Said {
  access: string
  date: string
  payload: string
  scope: string
  signature: string
  signed: string
}

/** @throws Refusal unless the request is signed with our secret. */
export function signatureOf(request: IncomingMessage, keys: Keys): Signed {
  const url = new URL(request.url ?? '/', 'http://x')
  const said = url.searchParams.has('X-Amz-Signature') ? inAddress(url) : inHeader(request)
  const { access, date, payload, scope, signature, signed } = said
  if (access !== keys.accessKeyId)
    throw new Refusal(403, 'InvalidAccessKeyId', `The access key ${access} does not exist.`)
  const query = [...url.searchParams].filter(([name]) => name !== 'X-Amz-Signature')
  const canonical = [
    request.method,
    url.pathname
      .split('/')
      .map((part) => escaped(decodeURIComponent(part)))
      .join('/'),
    query
      .map(([k, v]) => `${escaped(k)}=${escaped(v)}`)
      .sort()
      .join('&'),
    ...signed.split(';').map((name) => `${name}:${headerOf(request, name)}`),
    '',
    signed,
    payload,
  ].join('\n')
  const [day = '', region = '', service = ''] = scope.split('/')
  const key = hmac(hmac(hmac(hmac(`AWS4${keys.secretAccessKey}`, day), region), service), 'aws4_request')
  const expected = hmac(key, ['AWS4-HMAC-SHA256', date, scope, hex(canonical)].join('\n')).toString('hex')
  if (expected === signature) return { seed: signature, key, scope, date }
  const why = 'The request signature we calculated does not match the signature you provided.'
  throw new Refusal(403, 'SignatureDoesNotMatch', why)
}

const headerOf = ({ headers }: IncomingMessage, name: string): string =>
  String(headers[name] ?? '')
    .trim()
    .replace(/ +/g, ' ')

function inHeader(request: IncomingMessage): Said {
  const header = request.headers.authorization ?? ''
  const [, access, scope = '', signed = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+),\s*SignedHeaders=([^,]+),\s*Signature=([0-9a-f]{64})$/.exec(
      header,
    ) ?? []
  if (!access) throw new Refusal(403, 'AccessDenied', 'no signature')
  const names = signed.split(';')
  for (const needed of ['host', 'x-amz-content-sha256', 'x-amz-date'])
    if (!names.includes(needed)) throw new Refusal(403, 'AccessDenied', `${needed} is not signed`)
  const unsigned = Object.keys(request.headers).filter((name) => /^x-amz-/.test(name) && !names.includes(name))
  if (unsigned.length > 0) throw new Refusal(403, 'AccessDenied', `${unsigned} not signed`)
  const [date, payload] = ['x-amz-date', 'x-amz-content-sha256'].map((name) => String(request.headers[name]))
  return { access, date: date as string, payload: payload as string, scope, signature, signed }
}

function inAddress(url: URL): Said {
  const of = (name: string): string => url.searchParams.get(`X-Amz-${name}`) ?? ''
  const [access = '', ...scope] = of('Credential').split('/')
  const date = of('Date')
  const at = Date.parse(date.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5'))
  if (!(Date.now() < at + Number(of('Expires')) * 1000)) throw new Refusal(403, 'AccessDenied', 'Request has expired')
  const payload = 'UNSIGNED-PAYLOAD'
  return { access, date, payload, scope: scope.join('/'), signature: of('Signature'), signed: of('SignedHeaders') }
}
