// Whom this box lets in and whom it believes: the controller's key, the controller's certificate authority.
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { isIP } from 'node:net'
import * as tls from 'node:tls'
import { faultWords } from '../../kernel/words.ts'
import { installPublicKey } from '../host/authorizedkeys.ts'
import { writeEnvFile } from '../host/envfile.ts'
import { replaceFile } from '../host/files.ts'
import { FORCED_COMMAND, PLACES } from '../host/places.ts'
import { isUnknownIssuer, secureContext } from '../host/trust.ts'
import { settingsOf } from './box.ts'
import { maintenanceError } from './error.ts'

const CA_SETTING = 'SVC_CONTROLLER_CA_CERT_PATH'

/** In place of the line with the same comment. @throws UserError */
export function installKey(publicKey: string): void {
  try {
    installPublicKey(PLACES.agentKeys, publicKey, FORCED_COMMAND)
  } catch (e) {
    throw maintenanceError('failed', `The key cannot be put into ${PLACES.agentKeys}: ${faultWords(e)}.`)
  }
}

const CONNECT_MS = 10_000

/**
 * The agent believes nobody else than this authority once it is in place. One that does not vouch for the controller of this
 * box would cut it off; what cannot be asked now is not judged. @throws UserError
 */
export async function mayTrust(pem: string, settings: ReturnType<typeof settingsOf> = settingsOf()): Promise<void> {
  const url = URL.parse(settings.SVC_CONTROLLER_URL ?? '')
  if (url?.protocol !== 'https:') return
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = Number(url.port || 443)
  const socket = tls.connect({ host, port, secureContext: secureContext({ ca: pem }), servername: serverName(host) })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(CONNECT_MS) })
  } catch (e) {
    if (isUnknownIssuer(e))
      throw maintenanceError(
        'failed',
        `The certificate authority was not taken: it did not sign the certificate of ${url.host}, and this node would not ` +
          'reach its controller any more. Look at SVC_RUNNER_CONTROLLER_CA.',
      )
  } finally {
    socket.destroy()
  }
}

/** Addresses are no names (RFC 6066). */
const serverName = (host: string): string => (isIP(host) ? '' : host)

/**
 * Whether the agent that runs uses it by itself: it reads a file again when it changes, and its settings when it starts.
 * @throws UserError for what is no certificate; then nothing was changed
 */
export function trustCa(pem: string): boolean {
  const named = settingsOf()[CA_SETTING] === PLACES.controllerCa
  try {
    for (const [block] of pem.matchAll(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g))
      new X509Certificate(block)
  } catch (e) {
    throw maintenanceError('failed', `The certificate authority cannot be used: ${faultWords(e)}.`)
  }
  replaceFile(PLACES.controllerCa, pem.endsWith('\n') ? pem : `${pem}\n`, 0o644)
  writeEnvFile(PLACES.agentSettings, { [CA_SETTING]: PLACES.controllerCa })
  return named
}
