import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Makes names in a directory survive a power cut. */
export async function syncDir(dir: string): Promise<void> {
  const handle = await fs.open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Moves a synced file to its place; both directory entries are on disk when it resolves. */
export async function place(part: string, target: string): Promise<void> {
  await fs.mkdir(path.dirname(target), { recursive: true, mode: 0o750 })
  await fs.rename(part, target)
  for (const dir of new Set([path.dirname(target), path.dirname(part)])) await syncDir(dir)
}

/** Size in bytes; undefined when there is no such file. */
export async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await fs.stat(file)).size
  } catch (e) {
    if (hasCode(e, 'ENOENT')) return undefined
    throw e
  }
}

/** Bytes a file loses at once. */
const STEP = 16 * 1024 * 1024
const PAUSE_MS = 30

/**
 * Removes a large file piece by piece. Where freed blocks are discarded, removing gigabytes at once delays every fsync of
 * the disk, and with it commits.
 * @throws the signal's reason when it ends first; what is left can be removed later.
 */
export async function removeGently(file: string, signal?: AbortSignal): Promise<void> {
  for (let size = ((await sizeOf(file)) ?? 0) - STEP; size > 0; size -= STEP) {
    await fs.truncate(file, size)
    await sleep(PAUSE_MS, undefined, signal ? { signal } : {})
  }
  await fs.rm(file, { force: true })
}

export const hasCode = (e: unknown, code: string): boolean =>
  e instanceof Error && (e as { code?: string }).code === code

/**
 * A new name beside `target` for another program to write to, and every older one removed. The program of a killed process
 * may open its output late: under a name of its own it cannot touch ours.
 */
export async function freshDraft(target: string): Promise<string> {
  const [dir, stem] = [path.dirname(target), `${path.basename(target)}.`]
  for (const name of await fs.readdir(dir))
    if (name.startsWith(stem) && name.endsWith('.part')) await fs.rm(path.join(dir, name), { force: true })
  return `${target}.${randomBytes(8).toString('hex')}.part`
}

/** Makes a finished file and its name survive a power cut. */
export async function syncFile(file: string): Promise<void> {
  const handle = await fs.open(file, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
  await syncDir(path.dirname(file))
}

/** Replaces a small file atomically, also across a power cut. */
export async function replaceFile(file: string, content: string): Promise<void> {
  const temp = `${file}.tmp`
  const handle = await fs.open(temp, 'w', 0o600)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await fs.rename(temp, file)
  await syncDir(path.dirname(file))
}

export const isDiskFull = (e: unknown): boolean => hasCode(e, 'ENOSPC') || hasCode(e, 'EDQUOT')
