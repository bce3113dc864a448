// Root works on the files of a service as the user they belong to: what it makes is the service's own, and what was put
// there in its way leads root nowhere.
import * as fs from 'node:fs'
import { inExecutable } from '../../kernel/assets.ts'

/** Bit of CAP_DAC_READ_SEARCH in the mask of /proc/self/status; capabilities(7). */
const READ_SEARCH = 4n
const SETPRIV = '/usr/bin/setpriv'

/**
 * Root goes on as the owner of `dir`, this program begins anew for that; everybody else, and root in a directory of its own, goes
 * on as it is. All files can still be read: a backup that root keeps, a disk that is mounted for one person.
 * @throws Error when the system does not let it
 */
export function goOnAsOwnerOf(dir: string): void {
  const owner = process.geteuid?.() === 0 ? fs.statSync(dir, { throwIfNoEntry: false }) : undefined
  if (!owner || owner.uid === 0) return
  const caps = mayReadAll() ? ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'] : []
  const self = inExecutable ? [] : [...process.execArgv, process.argv[1] as string]
  const args = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', ...caps]
  process.execve?.(SETPRIV, ['setpriv', ...args, '--', process.execPath, ...self, ...process.argv.slice(2)])
}

/** A container's root may lack it. */
function mayReadAll(): boolean {
  const [, mask = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(fs.readFileSync('/proc/self/status', 'utf8')) ?? []
  return (BigInt(`0x${mask}`) & READ_SEARCH) !== 0n
}
