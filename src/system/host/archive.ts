// Reproducible archives: the build of a release and a controller produce the same bytes.
import * as path from 'node:path'
import { run } from './run.ts'

// Enough for a small machine that is recording.
const LONGEST_MS = 600_000

// Fixes order, times, owners and modes. GNU tar and gzip are part of every Debian. Stronger compression takes three times
// as long for half a percent.
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
 * Packs files of `folder` into a .tar.gz.
 * @throws Error quoting tar; the signal's reason when aborted. The caller removes a partial archive.
 */
export async function packFolder(folder: string, names: readonly string[], archive: string, signal?: AbortSignal) {
  const args = [...SAME, '-cf', path.resolve(archive), '-C', folder, '--', ...[...names].sort()]
  const done = await run('tar', args, { timeoutMs: LONGEST_MS, ...(signal ? { signal } : {}) })
  if (done.timedOut) throw new Error(`tar did not finish ${archive} within ${LONGEST_MS / 1000} s.`)
  if (done.code !== 0) throw new Error(`tar could not make ${archive}: ${done.stderr.trim() || `exit ${done.code}`}`)
}
