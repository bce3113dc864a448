// Root works on the files of a service as their owner: new files belong to the service, and links placed there cannot
// misuse root's rights.
import * as fs from 'node:fs'
import { inExecutable } from '../../kernel/assets.ts'

/** Bit of CAP_DAC_READ_SEARCH in the mask of /proc/self/status; capabilities(7). */
const READ_SEARCH = 4n
const SETPRIV = '/usr/bin/setpriv'

/**
 * As root, restarts this program as the owner of `dir`, unless that is root. It can still read all files, such as a backup
 * owned by root.
 * @throws Error when the system refuses
 */
export function goOnAsOwnerOf(dir: string): void {
  const owner = process.geteuid?.() === 0 ? fs.statSync(dir, { throwIfNoEntry: false }) : undefined
  if (!owner || owner.uid === 0) return
  const caps = mayReadAll() ? ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'] : []
  const self = inExecutable ? [] : [...process.execArgv, process.argv[1] as string]
  const args = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', ...caps]
  process.execve?.(SETPRIV, ['setpriv', ...args, '--', process.execPath, ...self, ...process.argv.slice(2)])
}

/** Root in a container may lack the capability. */
function mayReadAll(): boolean {
  const [, mask = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(fs.readFileSync('/proc/self/status', 'utf8')) ?? []
  return (BigInt(`0x${mask}`) & READ_SEARCH) !== 0n
}
