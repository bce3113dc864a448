// A thread that denoises one stream: a message says how many samples lie in the shared block, its answer how many now.
import { parentPort, workerData } from 'node:worker_threads'
import { lowerPriority } from '../../system/host/run.ts'
import { loadDenoiser } from './engines.ts'
import { ModelUnusable } from './model.rules.ts'
import { DenoiseStream } from './stream.ts'
import { type Answer, type Order, release, type Task } from './thread.ts'

const port = parentPort!

const answer = (words: Answer): void => port.postMessage(words)

async function serve({ block, engine, model }: Task): Promise<void> {
  const denoiser = await loadDenoiser(engine, model)
  const stream = new DenoiseStream(denoiser)
  port.on('message', async ({ count }: Order) => {
    const clean = await (count === undefined ? stream.end() : stream.push(block.subarray(0, count)))
    block.set(clean)
    answer({ count: clean.length })
    release(clean)
  })
  answer({ about: denoiser.about })
}

lowerPriority(0)
serve(workerData as Task).catch((e: unknown) => {
  // The only failure somebody can do without the engine for; any other ends the thread.
  if (!(e instanceof ModelUnusable)) throw e
  answer({ unusable: e.message })
})
