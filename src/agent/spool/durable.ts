import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { hasCode, syncDir } from '../../kernel/durable.ts'

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

/** Replaces a small file whole: a reader, or a power cut, finds the old content or the new, never a mixture. */
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
