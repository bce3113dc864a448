// One view over files on disk (development, tests) and assets inside the executable.
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import * as sea from 'node:sea'
import { Worker, type WorkerOptions } from 'node:worker_threads'

export const inExecutable = sea.isSea()

// src/kernel/assets.ts -> project root; never reached inside the executable
const projectRoot = (): string => path.resolve(import.meta.dirname, '..', '..')

/** From source, what a build makes of other files lies in .cache. */
const pathOf = (key: string): string => path.join(projectRoot(), key.startsWith('console/') ? '.cache' : '', key)

/** Bytes of an embedded file. Inside the executable the memory is the program's own: read it, never write to it. */
export function assetBytes(key: string): Uint8Array {
  return inExecutable ? new Uint8Array(sea.getRawAsset(key) as ArrayBuffer) : fs.readFileSync(pathOf(key))
}

export function assetText(key: string): string {
  return inExecutable ? sea.getAsset(key, 'utf8') : fs.readFileSync(pathOf(key), 'utf8')
}

/** Sorted keys of the files directly below `dir` (no leading or trailing slash). */
export function assetKeys(dir: string): string[] {
  const keys = inExecutable
    ? sea.getAssetKeys().filter((key) => key.startsWith(`${dir}/`))
    : fs.readdirSync(path.join(projectRoot(), dir)).map((file) => `${dir}/${file}`)
  return keys.sort()
}

/**
 * Starts a worker thread. `name` is the source below `src/` without its ending: `agent/meters/analyst` runs `src/agent/meters/analyst.worker.ts`,
 * which build.mjs bundles by itself. The caller has to end the worker and handle its `error`.
 */
export function startWorker(name: string, options: WorkerOptions = {}): Worker {
  if (inExecutable) return new Worker(assetText(`workers/${name}.cjs`), { ...options, eval: true })
  return new Worker(path.join(projectRoot(), 'src', `${name}.worker.ts`), options)
}

/** The one message of a worker that is given `workerData` and ends with it. @throws the thread's error */
export async function askWorker<T>(name: string, workerData: object): Promise<T> {
  const worker = startWorker(name, { workerData })
  const failed = once(worker, 'error').then(([e]) => {
    throw e
  })
  try {
    const [answer] = (await Promise.race([once(worker, 'message'), failed])) as [T]
    return answer
  } finally {
    failed.catch(() => undefined)
    await worker.terminate()
  }
}
