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
  if (owner && owner.uid !== 0) goOnAs([`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'])
}

/**
 * As root, restarts this program as the user of a service, with the groups of that user. It can still read all files.
 * @throws Error when the system refuses
 */
export function goOnAsUser(name: string): void {
  if (process.geteuid?.() === 0) goOnAs([`--reuid=${name}`, `--regid=${name}`, '--init-groups'])
}

function goOnAs(identity: readonly string[]): void {
  const caps = mayReadAll() ? ['--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'] : []
  const args = [...identity, ...caps, '--', process.execPath, ...ownArguments(), ...process.argv.slice(2)]
  process.execve?.(SETPRIV, ['setpriv', ...args])
}

/** What stands before the arguments of this program when it is started again by `process.execPath`. */
export const ownArguments = (): string[] => (inExecutable ? [] : [...process.execArgv, process.argv[1] as string])

/** Root in a container may lack the capability. */
function mayReadAll(): boolean {
  const [, mask = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(fs.readFileSync('/proc/self/status', 'utf8')) ?? []
  return (BigInt(`0x${mask}`) & READ_SEARCH) !== 0n
}
