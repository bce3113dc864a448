import * as fs from 'node:fs/promises'
import * as z from 'zod'
import { hasCode, replaceFile } from '../../kernel/durable.ts'
import { CacheEntry } from './cache.rules.ts'

const Manifest = z.object({ entries: z.array(CacheEntry), version: z.literal(1) })

/** What is noted of the recorder's copies; nothing when there is no file yet. */
export async function readManifest(file: string): Promise<CacheEntry[] | 'damaged'> {
  try {
    return Manifest.parse(JSON.parse(await fs.readFile(file, 'utf8'))).entries
  } catch (e) {
    return hasCode(e, 'ENOENT') ? [] : 'damaged'
  }
}

/** Durable when it resolves. */
export const writeManifest = (file: string, entries: CacheEntry[]): Promise<void> =>
  replaceFile(file, `${JSON.stringify({ entries, version: 1 } satisfies z.infer<typeof Manifest>, null, 2)}\n`)
