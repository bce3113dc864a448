import * as fs from 'node:fs/promises'

/** Makes names in a directory survive a power cut. */
export async function syncDir(dir: string): Promise<void> {
  const handle = await fs.open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
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

export const hasCode = (e: unknown, code: string): boolean =>
  e instanceof Error && (e as { code?: string }).code === code
