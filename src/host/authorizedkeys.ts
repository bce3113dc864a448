import * as fs from 'node:fs'
import * as path from 'node:path'
import { makeDir } from '../kernel/dirs.ts'
import { linesOf, replaceFile } from './files.ts'

/** Our line is the one with our comment; keys of other people on a one-box site stay. */
export function installPublicKey(file: string, publicKey: string): void {
  const dir = path.dirname(file)
  const comment = publicKey.split(' ').at(-1) as string
  makeDir(dir, 0o700)
  fs.chmodSync(dir, 0o700)
  const others = linesOf(file).filter((line) => line.trim().split(/\s+/).at(-1) !== comment)
  replaceFile(file, `${[...others, publicKey].join('\n')}\n`, 0o600)
}
