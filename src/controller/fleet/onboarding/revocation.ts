import type { CredentialStore } from './credentials.store.ts'
import type { SshKeyStore } from './sshkeys.store.ts'

export interface CredentialStores {
  credentials: CredentialStore
  sshKeys: SshKeyStore
}

/** Ends all that lets a node in or lets somebody act on it: tokens, unspent bootstrap tokens, SSH keys. Gives their numbers. */
export function endCredentials({ credentials, sshKeys }: CredentialStores, nodeId: string, now: string) {
  const ended = credentials.revoke(nodeId, now)
  sshKeys.revoke(nodeId, now)
  return ended
}
