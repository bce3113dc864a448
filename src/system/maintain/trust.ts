// The controller's SSH key and certificate authority on this box.
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

/** Replaces the line with the same comment. @throws UserError */
export function installKey(publicKey: string): void {
  try {
    installPublicKey(PLACES.agentKeys, publicKey, FORCED_COMMAND)
  } catch (e) {
    throw maintenanceError('failed', `The key cannot be put into ${PLACES.agentKeys}: ${faultWords(e)}.`)
  }
}

const CONNECT_MS = 10_000

/**
 * The agent will trust only this authority, so one that did not sign the controller's certificate would cut the box off.
 * An unreachable controller is not checked. @throws UserError
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
        `The certificate authority was not installed: it did not sign the certificate of ${url.host}, so this node could no ` +
          'longer reach its controller. Check SVC_RUNNER_CONTROLLER_CA.',
      )
  } finally {
    socket.destroy()
  }
}

/** Addresses are no names (RFC 6066). */
const serverName = (host: string): string => (isIP(host) ? '' : host)

/**
 * Installs the authority. @returns whether the running agent picks it up: it rereads a changed file, but not its settings
 * @throws UserError for what is not a certificate; then nothing was changed
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
