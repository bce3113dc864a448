import * as fs from 'node:fs'
import * as path from 'node:path'
import { makeDir } from '../../kernel/dirs.ts'
import { asOwnerOf } from './accounts.ts'
import { linesOf, replaceFile } from './files.ts'

/**
 * Writes the managed key into the file and removes all other managed keys: a box is one node, and the key of a former one
 * must not work any more. Other keys stay. `command`: the only command the key may run, without terminal or forwarding
 * (sshd(8), `restrict`). Uses the rights of the keys' owner.
 * @throws Error for a command that cannot be quoted; errors of the disk
 */
export function installPublicKey(file: string, publicKey: string, command?: string): void {
  const line = lineFor(publicKey, command)
  const own = parts(publicKey)
  prepareKeys(file)
  asOwnerOf(trusted(file), () => {
    const others = linesOf(file).filter((other) => !isManaged(other) && !isSame(parts(other), own))
    replaceFile(file, `${[...others, line].join('\n')}\n`, 0o600)
  })
}

/** Creates the directory of such a file with the mode sshd requires. Throws errors of the disk. */
export function prepareKeys(file: string): void {
  const dir = path.dirname(file)
  asOwnerOf(trusted(file), () => {
    makeDir(dir, 0o700)
    fs.chmodSync(dir, 0o700)
  })
}

/**
 * The directory whose owner's rights are used: the home, or, in a home that belongs to root, the directory of the keys.
 */
function trusted(file: string): string {
  const dir = path.dirname(path.resolve(file))
  const home = path.dirname(dir)
  const ofRoot = fs.statSync(home, { throwIfNoEntry: false })?.uid === 0
  return ofRoot && fs.lstatSync(dir, { throwIfNoEntry: false })?.isDirectory() ? dir : home
}

function lineFor(publicKey: string, command: string | undefined): string {
  if (command === undefined) return publicKey
  if (/["\\\r\n]/.test(command))
    throw new Error(`A command in authorized_keys cannot hold quotes, backslashes or line breaks: ${command}`)
  return `restrict,command="${command}" ${publicKey}`
}

// Options (blanks only within quotes), type, key, comment (sshd(8), "AUTHORIZED_KEYS FILE FORMAT").
const LINE = /^((?:[^\s"]|"(?:[^"\\]|\\.)*")+\s+)?(?:ssh|ecdsa|sk)-\S+\s+([A-Za-z0-9+/=]+)(?:\s+(.*))?$/

interface Parts {
  /** Empty without a comment, and for lines that are not keys. */
  comment: string
  key: string
  options: string
}

function parts(line: string): Parts {
  const [, options = '', key = '', comment = ''] = LINE.exec(line.trim()) ?? []
  return { comment: comment.trim(), key, options }
}

/** The same comment, or the same key. */
const isSame = (one: Parts, other: Parts): boolean =>
  (one.comment !== '' && one.comment === other.comment) || (one.key !== '' && one.key === other.key)

// Comment of the keys that controller and agent make. A person's key may begin with "svc-" too, but names no node.
const OF_A_NODE = /^svc-node_\S+$/
const HELD_TO_US = /command="[^"]*\broomtone maintain\b[^"]*"/

function isManaged(line: string): boolean {
  const { comment, options } = parts(line)
  return OF_A_NODE.test(comment) || (comment.startsWith('svc-') && HELD_TO_US.test(options))
}

/** Lines of keys that controllers and agents of ours have put there. Throws errors of the disk. */
export const managedKeys = (file: string): string[] => linesOf(file).filter(isManaged)
