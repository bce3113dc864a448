// Archives whose bytes depend on nothing but what is in them: the same by a release's builder and by a controller.
import * as path from 'node:path'
import { run } from './run.ts'

// Also on a small machine that records meanwhile.
const LONGEST_MS = 600_000

// Order, times, owners and modes are none of the machine's; GNU tar and gzip are part of every Debian. Harder compression
// takes three times as long for half a percent.
const SAME = [
  '--format=ustar',
  '--sort=name',
  '--mtime=@0',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--mode=a=rX,u+w',
  '--use-compress-program=gzip -6n',
]

/**
 * Packs what is directly in `folder` as a .tar.gz, in a process of its own.
 * @throws Error with tar's own words when it fails; the signal's reason when aborted. What was begun is left to the caller.
 */
export async function packFolder(folder: string, names: readonly string[], archive: string, signal?: AbortSignal) {
  const args = [...SAME, '-cf', path.resolve(archive), '-C', folder, '--', ...[...names].sort()]
  const done = await run('tar', args, { timeoutMs: LONGEST_MS, ...(signal ? { signal } : {}) })
  if (done.timedOut) throw new Error(`tar did not finish ${archive} within ${LONGEST_MS / 1000} s.`)
  if (done.code !== 0) throw new Error(`tar could not make ${archive}: ${done.stderr.trim() || `exit ${done.code}`}`)
}
