// What root permits setup files beyond the default. The file must belong to root, so that neither the stick nor the agent's
// user can decide this.

import * as fs from 'node:fs'
import { UserError } from '../../kernel/fail.ts'
import { flag } from '../../kernel/settings.ts'
import { parseEnvFile } from '../host/envfile.ts'

/**
 * FAT has the smallest kernel driver, hence the smallest attack surface; the others must be permitted.
 */
export const FILE_SYSTEMS = ['vfat', 'ext4', 'iso9660'] as const
export type FileSystem = (typeof FILE_SYSTEMS)[number]

export interface Permits {
  /** What a stick may be formatted as. */
  fileSystems: readonly FileSystem[]
  /** Whether a setup file may take over a box that has joined, without its present controller vouching for it. */
  replace: boolean
}

const DEFAULT: Permits = { fileSystems: ['vfat'], replace: false }
const OTHERS_WRITE = 0o022

/** @throws UserError when others may write it, or a value is not valid */
export function readPermits(file: string): Permits {
  // Its directory belongs to root, so nobody can swap the file between the check and the read.
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (!stat) return DEFAULT
  if (!stat.isFile() || stat.uid !== 0 || (stat.mode & OTHERS_WRITE) !== 0)
    throw new UserError(`${file} must be a regular file that belongs to root and that nobody else can write.`)
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
