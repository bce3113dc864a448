import * as fs from 'node:fs'
import * as path from 'node:path'
import { makeDir } from '../../kernel/dirs.ts'
import { asOwnerOf } from './accounts.ts'
import { linesOf, replaceFile } from './files.ts'

/**
 * Puts the managed key into the file, in place of every managed key that is there: a box is one node, and whoever kept the
 * key of a former one has no business here. Keys of other people stay. `command`: the key runs this and nothing else,
 * without terminal, forwarding or agent (sshd(8), `restrict`). Done with the rights of whose keys they are.
 * @throws Error for a command that cannot stand in quotes, and what the disk throws
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

/** The directory of such a file as sshd wants it, made where there is none. Throws what the disk throws. */
export function prepareKeys(file: string): void {
  const dir = path.dirname(file)
  asOwnerOf(trusted(file), () => {
    makeDir(dir, 0o700)
    fs.chmodSync(dir, 0o700)
  })
}

/**
 * Whose rights do for such a file: the home is its owner's with all that was put there, and what lies above it is root's. In a
 * home of root's the directory of keys may be somebody's.
 */
function trusted(file: string): string {
  const dir = path.dirname(path.resolve(file))
  const home = path.dirname(dir)
  const ofRoot = fs.statSync(home, { throwIfNoEntry: false })?.uid === 0
  return ofRoot && fs.lstatSync(dir, { throwIfNoEntry: false })?.isDirectory() ? dir : home
}

function lineFor(publicKey: string, command: string | undefined): string {
  if (command === undefined) return publicKey
  if (/["\\\r\n]/.test(command)) throw new Error(`A key cannot be held to this command: ${command}`)
  return `restrict,command="${command}" ${publicKey}`
}

// Options, with blanks in their quotes only; type; key; comment (sshd(8), "AUTHORIZED_KEYS FILE FORMAT").
const LINE = /^((?:[^\s"]|"(?:[^"\\]|\\.)*")+\s+)?(?:ssh|ecdsa|sk)-\S+\s+([A-Za-z0-9+/=]+)(?:\s+(.*))?$/

interface Parts {
  /** What stands after the key; empty when nothing does, and for lines that are no keys. */
  comment: string
  key: string
  options: string
}

function parts(line: string): Parts {
  const [, options = '', key = '', comment = ''] = LINE.exec(line.trim()) ?? []
  return { comment: comment.trim(), key, options }
}

/** Under the same comment, or the same key again under another one. */
const isSame = (one: Parts, other: Parts): boolean =>
  (one.comment !== '' && one.comment === other.comment) || (one.key !== '' && one.key === other.key)

// How the controller and the agent call the keys they make. A person's key may begin with "svc-" too, but names no node.
const OF_A_NODE = /^svc-node_\S+$/
const HELD_TO_US = /command="[^"]*\broomtone maintain\b[^"]*"/

function isManaged(line: string): boolean {
  const { comment, options } = parts(line)
  return OF_A_NODE.test(comment) || (comment.startsWith('svc-') && HELD_TO_US.test(options))
}
