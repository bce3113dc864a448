// Words for connections that fail because of a certificate.
import { isUnknownIssuer, isWrongTime } from '../../../system/host/trust.ts'

/** What to do about a connection to `at` that failed because of TLS; undefined for other failures. */
export function tlsFault(e: unknown, at: string): string | undefined {
  if (!(e instanceof Error)) return undefined
  const { code = '', message } = e as NodeJS.ErrnoException
  if (isUnknownIssuer(e))
    return (
      `no authority this controller trusts has signed the certificate of ${at}: name the file of its authority in ` +
      'SVC_TRUSTED_CA_FILE'
    )
  if (isWrongTime(e))
    return `the certificate of ${at} is not valid at this time: renew it there, and check the clock of this machine`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `the certificate of ${at} is for another name: enter a name that is in it`
  if (/^ERR_SSL_|^EPROTO$/.test(code) || /wrong version number|packet length too long/.test(message))
    return `${at} does not speak TLS as expected: check the port, and whether TLS is on there`
  return undefined
}
