// Releases for a controller to give: the executable under another version's name, and programs that only say they are one.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type Arch, archiveName, SUMS, sumLine } from '../../src/system/host/release.rules.ts'
import { digestOfFile } from '../../src/system/host/release.ts'

/** The same program under another name, and its own; no byte of it moves. */
export function renamed(file: string, version: string): { original: string; program: Buffer } {
  const program = fs.readFileSync(file)
  const start = program.indexOf('version=true?"')
  const named = /version=(true\?"([^"]+)":"[^"]+")/.exec(program.subarray(start).toString('latin1', 0, 200))
  assert.ok(named?.[1] && named[2])
  program.write(`"${version}"`.padEnd(named[1].length), program.indexOf(named[1]), 'latin1')
  return { original: named[2], program }
}

/** A script that says it is `version`, and then does something else. */
export const claiming = (version: string, does: string): string =>
  `#!/bin/sh\nif [ "$1" = version ]; then echo ${version}; exit; fi\n${does}\n`

/** Puts a release into a directory of releases; gives the file of its checksums. */
export async function release(releases: string, version: string, program: string | Buffer): Promise<string> {
  const [dir, name] = [path.join(releases, version), archiveName(version, process.arch as Arch)]
  fs.mkdirSync(dir, { recursive: true })
  fs.writeFileSync(path.join(dir, 'roomtone'), program, { mode: 0o755 })
  execFileSync('tar', ['-C', dir, '--use-compress-program=gzip -1', '-cf', path.join(dir, name), 'roomtone'])
  fs.rmSync(path.join(dir, 'roomtone'))
  const sums = path.join(dir, SUMS)
  fs.writeFileSync(sums, sumLine(name, await digestOfFile(path.join(dir, name))))
  return sums
}
