// What root of this box permits a setup file beyond what every one may. In a file of root's exclusively, so that neither who brings
// a stick nor the agent's user decides it.

import * as fs from 'node:fs'
import { UserError } from '../../kernel/fail.ts'
import { flag } from '../../kernel/settings.ts'
import { parseEnvFile } from '../host/envfile.ts'

/** Kinds of file systems we can look into. FAT is the simplest for a kernel to read; what reads the others is far larger. */
export const FILE_SYSTEMS = ['vfat', 'ext4', 'iso9660'] as const
export type FileSystem = (typeof FILE_SYSTEMS)[number]

export interface Permits {
  /** What a stick may be formatted as. */
  fileSystems: readonly FileSystem[]
  /** Whether a setup file may take over a box that has joined, though its present controller does not vouch for that. */
  replace: boolean
}

const DEFAULT: Permits = { fileSystems: ['vfat'], replace: false }
const OTHERS_WRITE = 0o022

/** @throws UserError when it is not root's exclusively, or a value cannot be meant */
export function readPermits(file: string): Permits {
  // Its directory is root's: what is looked at here is what is read.
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (!stat) return DEFAULT
  if (!stat.isFile() || stat.uid !== 0 || (stat.mode & OTHERS_WRITE) !== 0)
    throw new UserError(`${file} must be a plain file that belongs to root and that nobody else can write.`)
  return permitsOf(fs.readFileSync(file, 'utf8'), file)
}

function permitsOf(text: string, file: string): Permits {
  const { SVC_PROVISION_FILE_SYSTEMS: systems = 'vfat', SVC_PROVISION_REPLACE: replace = 'false' } = parseEnvFile(text)
  const named = systems.split(/[\s,]+/).filter(Boolean)
  const known = named.filter((name): name is FileSystem => FILE_SYSTEMS.some((one) => one === name))
  if (known.length === 0 || known.length < named.length)
    throw new UserError(`SVC_PROVISION_FILE_SYSTEMS in ${file}: expected some of ${FILE_SYSTEMS.join(', ')}.`)
  const permitted = flag.safeParse(replace)
  if (!permitted.success) throw new UserError(`SVC_PROVISION_REPLACE in ${file}: expected true or false.`)
  return { fileSystems: known, replace: permitted.data }
}
