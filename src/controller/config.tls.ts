// The TLS files that the settings name, or the message about a contradiction.
import { isLoopback } from '../kernel/loopback.ts'
import type { CertificateFiles } from './http/certificates.ts'

interface TlsValues {
  SVC_ALLOW_PLAIN_HTTP: boolean
  SVC_API_TLS_CA_PATH?: string | undefined
  SVC_API_TLS_CERT_PATH?: string | undefined
  SVC_API_TLS_CLIENT_CA_PATH?: string | undefined
  SVC_API_TLS_CLIENT_CERT_MODE: CertificateFiles['clientCertMode']
  SVC_API_TLS_KEY_PATH?: string | undefined
  SVC_API_TLS_NEXT_CERT_PATH?: string | undefined
  SVC_API_TLS_NEXT_KEY_PATH?: string | undefined
  SVC_API_TLS_NEXT_NOT_BEFORE?: string | undefined
  SVC_HOST: string
}

interface TlsReading {
  fault?: string
  tls?: CertificateFiles
}

/** Without `tls` and `fault`: plain HTTP, on this machine only or explicitly allowed. */
export function tlsOf(values: TlsValues, behindProxy: boolean): TlsReading {
  const { SVC_API_TLS_CERT_PATH: cert, SVC_API_TLS_KEY_PATH: key } = values
  if (!cert !== !key)
    return { fault: 'SVC_API_TLS_CERT_PATH and SVC_API_TLS_KEY_PATH go together: set both or neither.' }
  return cert && key ? secured(values, cert, key) : plain(values, behindProxy)
}

function plain(values: TlsValues, behindProxy: boolean): TlsReading {
  const { SVC_ALLOW_PLAIN_HTTP: allowed, SVC_API_TLS_CLIENT_CERT_MODE: mode, SVC_HOST: host } = values
  if (mode !== 'off')
    return {
      fault: 'SVC_API_TLS_CLIENT_CERT_MODE asks for client certificates: set SVC_API_TLS_CERT_PATH and _KEY_PATH too.',
    }
  if (values.SVC_API_TLS_NEXT_CERT_PATH || values.SVC_API_TLS_NEXT_KEY_PATH)
    return {
      fault: 'SVC_API_TLS_NEXT_CERT_PATH follows another certificate: set SVC_API_TLS_CERT_PATH and _KEY_PATH too.',
    }
  if (allowed || behindProxy || isLoopback(host)) return {}
  return {
    fault:
      `SVC_HOST is ${host}, where other machines reach it, without TLS: passwords, tokens and audio could be read on the way. ` +
      'Set SVC_API_TLS_CERT_PATH and SVC_API_TLS_KEY_PATH (roomtone tls init makes both); or, behind a proxy with TLS, name ' +
      'it in SVC_TRUSTED_PROXIES; or set SVC_ALLOW_PLAIN_HTTP=1 where the network is private.',
  }
}

function secured(values: TlsValues, cert: string, key: string): TlsReading {
  const { SVC_API_TLS_CA_PATH: ca, SVC_API_TLS_CLIENT_CERT_MODE: clientCertMode } = values
  const clientCa = values.SVC_API_TLS_CLIENT_CA_PATH ?? ca
  if (clientCertMode !== 'off' && !clientCa)
    return {
      fault: `SVC_API_TLS_CLIENT_CERT_MODE is ${clientCertMode}: name the authorities of clients in SVC_API_TLS_CLIENT_CA_PATH.`,
    }
  const next = nextOf(values)
  return 'fault' in next ? next : { tls: { ca, cert, clientCa, clientCertMode, key, ...next } }
}

function nextOf(values: TlsValues): { fault: string } | Pick<CertificateFiles, 'next'> {
  const { SVC_API_TLS_NEXT_CERT_PATH: cert, SVC_API_TLS_NEXT_KEY_PATH: key, SVC_API_TLS_NEXT_NOT_BEFORE: from } = values
  if (!cert && !key && !from) return {}
  if (!cert || !key || !from)
    return {
      fault:
        'SVC_API_TLS_NEXT_CERT_PATH, SVC_API_TLS_NEXT_KEY_PATH and SVC_API_TLS_NEXT_NOT_BEFORE go together: set all or none.',
    }
  return { next: { cert, key, notBefore: Date.parse(from) } }
}
