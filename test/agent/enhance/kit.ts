// A take on the disk, an enhancer, and what came out.
import * as fs from 'node:fs'
import * as path from 'node:path'
import type { TestContext } from 'node:test'
import {
  createEnhancer,
  type Enhanced,
  type EnhanceRequest,
  type EnhancerParts,
} from '../../../src/agent/enhance/enhance.ts'
import { EMBEDDED_MODEL } from '../../../src/agent/enhance/model.rules.ts'
import type { Happening } from '../../../src/agent/health/report.ts'
import { Enhancement } from '../../../src/wire/profiles.ts'
import { tempDir } from '../jobs/kit.ts'
import { decode, writeWav } from './material.ts'
import type { Samples } from './measures.ts'

export const WAV = ['-c:a', 'pcm_s16le', '-f', 'wav']
export const FLOAT_WAV = ['-c:a', 'pcm_f32le', '-f', 'wav']
export const never = new AbortController().signal

type Stages = Partial<Record<keyof Enhancement, unknown>>
const OFF = { enabled: false }

/** Every stage off but those given. */
export const only = (stages: Stages): Enhancement =>
  Enhancement.parse({ denoise: OFF, highpass: OFF, loudnorm: OFF, ...stages })

export interface Bench {
  dir: string
  happened: Happening[]
  /** Names of what lies in the directory of intermediate files, and beside the output. */
  leftovers(): string[]
  request(chain: Enhancement, more?: Partial<EnhanceRequest>): EnhanceRequest
  run(
    chain: Enhancement,
    more?: Partial<EnhanceRequest>,
    signal?: AbortSignal,
  ): Promise<Enhanced & { file: string; sound: Samples }>
}

/** `channels`: of the take, at 48 kHz. */
export function bench(t: TestContext, channels: Samples[], parts: Partial<EnhancerParts> = {}): Bench {
  const dir = tempDir(t)
  const take = path.join(dir, 'take.wav')
  const workDir = path.join(dir, 'work')
  fs.mkdirSync(workDir)
  writeWav(take, ...channels)
  const happened: Happening[] = []
  const report = (happening: Happening) => void happened.push(happening)
  const env = { PATH: process.env.PATH }
  const enhancer = createEnhancer({ command: 'ffmpeg', env, model: EMBEDDED_MODEL, report, ...parts })
  const request = (chain: Enhancement, more: Partial<EnhanceRequest> = {}): EnhanceRequest => ({
    chain,
    codecArgs: FLOAT_WAV,
    mixes: undefined,
    output: path.join(dir, 'enhanced.wav'),
    outputChannels: 1,
    take: { file: take, fromFrame: 0, toFrame: channels[0]!.length },
    workDir,
    ...more,
  })
  return {
    dir,
    happened,
    leftovers: () => [...fs.readdirSync(workDir), ...fs.readdirSync(dir).filter((name) => name.endsWith('.part'))],
    request,
    run: async (chain, more, signal = never) => {
      const asked = request(chain, more)
      const enhanced = await enhancer.enhance(asked, { signal })
      return { ...enhanced, file: asked.output, sound: decode(asked.output) }
    },
  }
}
