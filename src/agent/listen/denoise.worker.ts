// The thread that denoises live audio: started when a listener asks for it, ended when none does.
import { parentPort, workerData } from 'node:worker_threads'
import type { Denoiser } from '../enhance/denoiser.rules.ts'
import { loadDenoiser } from '../enhance/engines.ts'
import { createDenoising } from './denoising.ts'
import type { DenoiseBlock, DenoiseNews, DenoiseSetup } from './messages.ts'

const { model } = workerData as DenoiseSetup
const port = parentPort!
const tell = (news: DenoiseNews): void => port.postMessage(news)
const text = (e: unknown): string => (e instanceof Error ? e.message : String(e))

/** The deep engine; the recurrent one where its model is of no use. */
async function load(): Promise<{ denoiser: Denoiser; refused?: string }> {
  try {
    return { denoiser: await loadDenoiser('deepfilternet3', model) }
  } catch (e) {
    return { denoiser: await loadDenoiser('rnnoise', model), refused: text(e) }
  }
}

async function work(): Promise<void> {
  const { denoiser, refused } = await load()
  const denoising = createDenoising(denoiser)
  // One block after the other: the denoiser answers one frame at a time.
  let working: Promise<void> = Promise.resolve()
  let run = 0
  const one = async ({ begin, samples }: DenoiseBlock): Promise<void> => {
    if (begin) {
      run++
      denoising.begin(begin)
    }
    tell({ cuts: await denoising.push(samples), done: samples.length, run })
  }
  port.on('message', (block: DenoiseBlock) => {
    working = working.then(() => one(block)).catch(failed)
  })
  tell({ engine: denoiser.name, ...(refused === undefined ? {} : { refused }) })
}

const failed = (e: unknown): void => tell({ failed: text(e) })

work().catch(failed)
