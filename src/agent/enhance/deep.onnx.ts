// The deep engine: a streaming spectrum network, run frame by frame by the ONNX runtime (WebAssembly, one thread).

import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as ort from 'onnxruntime-web/wasm'
import { assetBytes } from '../../kernel/assets.ts'
import { faultWords } from '../../kernel/words.ts'
import type { Denoiser } from './denoiser.rules.ts'
import { type DeepModel, ModelUnusable } from './model.rules.ts'
import { onnxMetadata, type SpectrumModel, spectrumModel } from './onnx.rules.ts'
import { BINS, createSpectrum, HOP } from './spectrum.rules.ts'

const RUNTIME = 'node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm'
/** One hop of overlap, and the two frames the network looks ahead. */
const LAG = 3 * HOP

async function openSession(bytes: Uint8Array): Promise<ort.InferenceSession> {
  const { wasm } = ort.env
  Object.assign(wasm, { numThreads: 1, proxy: false, wasmBinary: assetBytes(RUNTIME) })
  ort.env.logLevel = 'error'
  try {
    return await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'], graphOptimizationLevel: 'all' })
  } finally {
    // Compiled by now; a thread loads it once, and its 14 MB are better given back.
    delete wasm.wasmBinary
  }
}

function startState({ erbNorm, specNorm, stateSize }: SpectrumModel): ort.Tensor {
  const state = new Float32Array(stateSize)
  state.set(erbNorm)
  state.set(specNorm, erbNorm.length)
  return new ort.Tensor('float32', state, [stateSize])
}

type Stream = Pick<Denoiser, 'close' | 'process'>

function stream(session: ort.InferenceSession, model: SpectrumModel): Stream {
  const { analyse, synthesise } = createSpectrum()
  let state = startState(model)
  return {
    process: async (frame) => {
      const spec = new ort.Tensor('float32', analyse(frame), [1, 1, BINS, 2])
      const { spec_e, state_out } = await session.run({ spec, state_in: state })
      if (!spec_e || !state_out) throw new ModelUnusable('its output lacks spec_e or state_out')
      state = state_out as ort.Tensor
      return synthesise(spec_e.data as Float32Array)
    },
    close: () => void session.release(),
  }
}

/** Loads the model and tries one frame. @throws ModelUnusable, which names the model */
export async function loadDeep(model: DeepModel): Promise<Denoiser> {
  const { bytes, sha256 } = readModel(model)
  const about = { engine: 'deepfilternet3', model: model.name, sha256 } as const
  try {
    const shape = spectrumModel(onnxMetadata(bytes))
    const session = await openSession(bytes)
    await stream(session, shape).process(new Float32Array(HOP))
    return { ...stream(session, shape), about, lagSamples: LAG, name: 'deepfilternet3' }
  } catch (e) {
    throw new ModelUnusable(`${model.file ?? model.name}: ${e instanceof Error ? e.message : String(e)}`)
  }
}

const EMBEDDED_KEY = 'models/small-deep-denoiser.onnx'

function readFile(file: string): Uint8Array {
  try {
    return fs.readFileSync(file)
  } catch (e) {
    throw new ModelUnusable(`${file} cannot be read: ${faultWords(e, file)}`)
  }
}

/** Bytes of a model, which are the expected ones, and their SHA-256 (hex). @throws ModelUnusable */
function readModel({ file, name, sha256: expected }: DeepModel): { bytes: Uint8Array; sha256: string } {
  const bytes = file === undefined ? assetBytes(EMBEDDED_KEY) : readFile(file)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  if (expected !== undefined && sha256 !== expected)
    throw new ModelUnusable(`${file ?? name} has SHA-256 ${sha256}, expected ${expected}`)
  return { bytes, sha256 }
}
