// Whom this box lets in and whom it believes: the controller's key, the controller's certificate authority.
import { X509Certificate } from 'node:crypto'
import { installPublicKey } from '../host/authorizedkeys.ts'
import { writeEnvFile } from '../host/envfile.ts'
import { replaceFile } from '../host/files.ts'
import { FORCED_COMMAND, PLACES } from '../host/places.ts'
import { settingsOf } from './box.ts'
import { Ended } from './end.ts'

const CA_SETTING = 'SVC_CONTROLLER_CA_CERT_PATH'

/** In place of the line with the same comment. @throws Ended */
export function installKey(publicKey: string): void {
  try {
    installPublicKey(PLACES.agentKeys, publicKey, FORCED_COMMAND)
  } catch (e) {
    throw new Ended('failed', `The key cannot be put into ${PLACES.agentKeys}: ${(e as Error).message}.`)
  }
}

/**
 * Whether the agent that runs uses it by itself: it reads a file again when it changes, and its settings when it starts.
 * @throws Ended for what is no certificate; then nothing was changed
 */
export function trustCa(pem: string): boolean {
  const named = settingsOf()[CA_SETTING] === PLACES.controllerCa
  try {
    for (const [block] of pem.matchAll(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g))
      new X509Certificate(block)
  } catch (e) {
    throw new Ended('failed', `The certificate authority cannot be used: ${(e as Error).message}.`)
  }
  replaceFile(PLACES.controllerCa, pem.endsWith('\n') ? pem : `${pem}\n`, 0o644)
  writeEnvFile(PLACES.agentSettings, { [CA_SETTING]: PLACES.controllerCa })
  return named
}
