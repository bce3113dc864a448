// Whom this box lets in and whom it believes: the controller's key, the controller's certificate authority.
import { X509Certificate } from 'node:crypto'
import { installPublicKey } from '../host/authorizedkeys.ts'
import { writeEnvFile } from '../host/envfile.ts'
import { replaceFile } from '../host/files.ts'
import { MAINTAIN_COMMAND, PLACES, USERS } from '../host/places.ts'
import { idsOf } from '../setup/accounts.ts'
import { Ended } from './end.ts'

/** What the key may do here, and nothing else. */
export const FORCED_COMMAND = `sudo -n ${MAINTAIN_COMMAND}`

/**
 * In place of the line with the same comment. Done with the rights of the agent's user: the directory is that user's, and
 * what it may have put there must not lead root anywhere else. @throws Ended
 */
export async function installKey(publicKey: string): Promise<void> {
  const { gid, uid } = await idsOf(USERS.agent)
  try {
    asUser(uid, gid, () => installPublicKey(PLACES.agentKeys, publicKey, FORCED_COMMAND))
  } catch (e) {
    throw new Ended('failed', `The key cannot be put into ${PLACES.agentKeys}: ${(e as Error).message}.`)
  }
}

/** With this user's rights and no group but its own. Nothing else of this process may run meanwhile: `work` must not wait. */
function asUser(uid: number, gid: number, work: () => void): void {
  const groups = process.getgroups?.() ?? []
  process.setgroups?.([gid])
  process.setegid?.(gid)
  process.seteuid?.(uid)
  try {
    work()
  } finally {
    process.seteuid?.(0)
    process.setegid?.(0)
    process.setgroups?.(groups)
  }
}

/** @throws Ended for what is no certificate; then nothing was changed */
export function trustCa(pem: string): void {
  try {
    for (const [block] of pem.matchAll(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g))
      new X509Certificate(block)
  } catch (e) {
    throw new Ended('failed', `The certificate authority cannot be used: ${(e as Error).message}.`)
  }
  replaceFile(PLACES.controllerCa, pem.endsWith('\n') ? pem : `${pem}\n`, 0o644)
  writeEnvFile(PLACES.agentSettings, { SVC_CONTROLLER_CA_CERT_PATH: PLACES.controllerCa })
}
