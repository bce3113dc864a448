import * as fs from 'node:fs'
import * as path from 'node:path'
import { makeDir } from '../kernel/dirs.ts'
import { linesOf, replaceFile } from './files.ts'

/**
 * Puts a key into the file, in place of the line that has its comment: that one is ours, keys of other people stay.
 * `command`: the key runs this and nothing else, without terminal, forwarding or agent (sshd(8), `restrict`).
 * @throws Error for a command that cannot stand in quotes, and what the disk throws
 */
export function installPublicKey(file: string, publicKey: string, command?: string): void {
  const dir = path.dirname(file)
  const comment = commentOf(publicKey)
  makeDir(dir, 0o700)
  fs.chmodSync(dir, 0o700)
  const others = linesOf(file).filter((line) => comment === '' || commentOf(line) !== comment)
  replaceFile(file, `${[...others, lineFor(publicKey, command)].join('\n')}\n`, 0o600)
}

function lineFor(publicKey: string, command: string | undefined): string {
  if (command === undefined) return publicKey
  if (/["\\\r\n]/.test(command)) throw new Error(`A key cannot be held to this command: ${command}`)
  return `restrict,command="${command}" ${publicKey}`
}

// Options, with blanks in their quotes only; type; key; comment (sshd(8), "AUTHORIZED_KEYS FILE FORMAT").
const LINE = /^(?:(?:[^\s"]|"(?:[^"\\]|\\.)*")+\s+)?(?:ssh|ecdsa|sk)-\S+\s+[A-Za-z0-9+/=]+\s+(.*)$/

/** What stands after the key; empty when nothing does, and for lines that are no keys. */
const commentOf = (line: string): string => LINE.exec(line.trim())?.[1]?.trim() ?? ''
