// The recurrent network (RNNoise, version 0.2) as WebAssembly.
import { assetBytes, assetText, inExecutable } from '../../kernel/assets.ts'
import type { Denoiser } from './denoiser.rules.ts'
import { embeddedWasm } from './embedded.rules.ts'

/** What the module exports; its names are those of the compiler. */
interface Rnnoise {
  /** memory */ c: WebAssembly.Memory
  /** constructors */ d(): void
  /** malloc */ e(bytes: number): number
  /** free */ f(at: number): void
  /** rnnoise_create(model), 0 = the built-in network */ h(model: number): number
  /** rnnoise_destroy */ i(state: number): void
  /** rnnoise_process_frame(state, out, in) */ j(state: number, out: number, input: number): number
}

const FRAME = 480
/** One frame of overlap and one the network looks ahead. */
const LAG = 960
const PAGE = 65_536
/** The network was trained on the numbers of 16-bit samples. */
const SCALE = 32_768

/** Bytes of the module: an asset of the executable, cut out of the package's script in development. */
function wasmBytes(): Uint8Array {
  if (inExecutable) return assetBytes('wasm/rnnoise.wasm')
  return embeddedWasm(assetText('node_modules/@jitsi/rnnoise-wasm/dist/rnnoise-sync.js'))
}

async function instantiate(): Promise<Rnnoise> {
  const module = await WebAssembly.compile(wasmBytes().slice())
  const memory = (): WebAssembly.Memory => (instance.exports as unknown as Rnnoise).c
  const grow = (bytes: number): number => {
    const missing = bytes - memory().buffer.byteLength
    if (missing > 0) memory().grow(Math.ceil(missing / PAGE))
    return 1
  }
  const copy = (to: number, from: number, bytes: number): void => {
    new Uint8Array(memory().buffer).copyWithin(to, from, from + bytes)
  }
  const instance = await WebAssembly.instantiate(module, { a: { a: grow, b: copy } })
  const rnnoise = instance.exports as unknown as Rnnoise
  rnnoise.d()
  return rnnoise
}

export async function loadRecurrent(): Promise<Denoiser> {
  const rnnoise = await instantiate()
  const state = rnnoise.h(0)
  const at = rnnoise.e(FRAME * 4)
  const view = () => new Float32Array(rnnoise.c.buffer, at, FRAME)
  // A memory that grows takes its views away.
  let heap = view()
  return {
    about: { engine: 'rnnoise', model: 'rnnoise-0.2' },
    lagSamples: LAG,
    name: 'rnnoise',
    process: (frame) => {
      for (let i = 0; i < FRAME; i++) heap[i] = frame[i]! * SCALE
      rnnoise.j(state, at, at)
      if (heap.byteLength === 0) heap = view()
      const clean = new Float32Array(FRAME)
      for (let i = 0; i < FRAME; i++) clean[i] = heap[i]! / SCALE
      return clean
    },
    close: () => {
      rnnoise.i(state)
      rnnoise.f(at)
    },
  }
}
