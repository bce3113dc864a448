// Enhances one take and prints what it cost. usage: agent.denoise.child.ts ENGINE SECONDS DIR
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { DENOISE_FRAME, DENOISE_RATE, type DenoiserName } from '../../src/agent/enhance/denoiser.rules.ts'
import { loadDenoiser } from '../../src/agent/enhance/engines.ts'
import { createEnhancer } from '../../src/agent/enhance/enhance.ts'
import { EMBEDDED_MODEL } from '../../src/agent/enhance/model.rules.ts'
import { Enhancement } from '../../src/wire/profiles.ts'

export interface Enhancing {
  /** CPU seconds of this process and its children for the whole enhancement. */
  cpu: number
  /** CPU seconds of the engine per second of audio. */
  engineCpu: number
  peakMiB: number
  wall: number
}

const TICKS = 100

/** CPU seconds of this process and of its children that ended. */
function cpuSeconds(): number {
  const fields = fs.readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS
}

/** Noise that comes and goes like speech: what is heard does not change what it costs. */
function makeTake(file: string, seconds: number): void {
  const sound = `anoisesrc=c=pink:r=${DENOISE_RATE}:a=0.3:d=${seconds}:s=1,tremolo=f=2:d=0.9,pan=stereo|c0=c0|c1=c0`
  execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', sound, '-c:a', 'pcm_s16le', '-y', file])
}

async function enhance(engine: DenoiserName, seconds: number, dir: string): Promise<Omit<Enhancing, 'engineCpu'>> {
  const file = path.join(dir, 'take.wav')
  const output = path.join(dir, 'enhanced.mp3')
  makeTake(file, seconds)
  const enhancer = createEnhancer({ command: 'ffmpeg', env: process.env, model: EMBEDDED_MODEL, report: () => {} })
  const request = {
    chain: Enhancement.parse({ denoise: { engine } }),
    codecArgs: ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3'],
    mixes: undefined,
    output,
    outputChannels: 1,
    take: { file, fromFrame: 0, toFrame: Math.round(seconds * DENOISE_RATE) },
    workDir: dir,
  }
  const [cpu, wall] = [cpuSeconds(), performance.now()]
  await enhancer.enhance(request, { signal: new AbortController().signal })
  const spent = { cpu: cpuSeconds() - cpu, wall: (performance.now() - wall) / 1000 }
  for (const made of [file, output]) fs.rmSync(made)
  return { ...spent, peakMiB: process.resourceUsage().maxRSS / 1024 }
}

/** After the enhancement, so that its memory is not counted. */
async function alone(engine: DenoiserName): Promise<number> {
  const denoiser = await loadDenoiser(engine, EMBEDDED_MODEL)
  const frame = Float32Array.from({ length: DENOISE_FRAME }, (_, i) => 0.1 * Math.sin(i * i))
  const seconds = 60
  const from = process.cpuUsage()
  for (let i = 0; i < (seconds * DENOISE_RATE) / DENOISE_FRAME; i++) await denoiser.process(frame)
  const { system, user } = process.cpuUsage(from)
  denoiser.close()
  return (system + user) / 1e6 / seconds
}

const [engine = '', seconds = '', dir = ''] = process.argv.slice(2)
const whole = await enhance(engine as DenoiserName, Number(seconds), dir)
process.stdout.write(JSON.stringify({ ...whole, engineCpu: await alone(engine as DenoiserName) } satisfies Enhancing))
