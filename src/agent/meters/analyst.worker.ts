// The measuring thread. Its only state is the interval under way, so it can be replaced at any time.
import { parentPort } from 'node:worker_threads'
import type { PcmFormat } from '../audio/format.rules.ts'
import type { Slice } from '../ear/slices.rules.ts'
import { Accumulator, type Measurement, type MeterOptions } from './accumulator.ts'

export type ToAnalyst =
  | { format: PcmFormat; id: number; kind: 'open'; options: MeterOptions }
  /** `bytes`: whole frames at the beginning of `memory`, which is returned with the answer. */
  | { bytes: number; capturedAt: number; id: number; kind: 'sound'; memory: ArrayBuffer }
  | { id: number; kind: 'close' }
  /** Whether slices are wanted. */
  | { id: number; kind: 'listen'; on: boolean }
  /** Quick measurements a second. */
  | { id: number; kind: 'pace'; perSecond: number }

export interface FromAnalyst {
  id: number
  measurements: Measurement[]
  memory: ArrayBuffer
  slices: Slice[]
}

function serve(port: NonNullable<typeof parentPort>): void {
  const accumulators = new Map<number, Accumulator>()
  port.on('message', (message: ToAnalyst) => {
    const { id } = message
    if (message.kind === 'open') accumulators.set(id, new Accumulator(message.format, message.options))
    else if (message.kind === 'close') accumulators.delete(id)
    else if (message.kind === 'listen') accumulators.get(id)?.listen(message.on)
    else if (message.kind === 'pace') accumulators.get(id)?.pace(message.perSecond)
    else {
      const { bytes, capturedAt, memory } = message
      const accumulator = accumulators.get(id)
      const measurements = accumulator?.add(new Uint8Array(memory, 0, bytes), capturedAt) ?? []
      const slices = accumulator?.slices() ?? []
      port.postMessage({ id, measurements, memory, slices } satisfies FromAnalyst, [memory])
    }
  })
}

if (parentPort) serve(parentPort)
