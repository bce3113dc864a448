import * as path from 'node:path'
import { fingerprint } from '../crypto/sshkey.ts'
import { linesOf } from '../system/host/files.ts'

// Strongest first. Others (dsa) are not offered by any server of today.
const TYPES = ['ed25519', 'ecdsa', 'rsa']

/**
 * Public keys of this machine's SSH server, one line each; none where there is no server. What cannot be read is left out:
 * a node joins without it, and the lifecycle runner refuses the node until an operator gives its keys.
 */
export const readHostKeys = (dir: string): string[] =>
  TYPES.flatMap((type) => {
    try {
      const line = linesOf(path.join(dir, `ssh_host_${type}_key.pub`))[0]?.trim() ?? ''
      return fingerprint(line) ? [line] : []
    } catch {
      return [] // see above; which key is missing shows on the controller
    }
  })
