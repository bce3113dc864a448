// Starts worker threads: from the source file in development, from an embedded bundle in the executable.
import * as path from 'node:path'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { assetText, inExecutable } from './assets.ts'

/**
 * `name` is the source below `src/` without its ending: `agent/meters/analyst` runs `src/agent/meters/analyst.worker.ts`,
 * which build.mjs bundles by itself. The caller has to end the worker and handle its `error`.
 */
export function startWorker(name: string, options: WorkerOptions = {}): Worker {
  if (inExecutable) return new Worker(assetText(`workers/${name}.cjs`), { ...options, eval: true })
  return new Worker(path.resolve(import.meta.dirname, '..', `${name}.worker.ts`), options)
}
