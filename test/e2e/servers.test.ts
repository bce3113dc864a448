// The sound servers beside ALSA, as they are: what the agent asks their programs for, and what comes.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PcmFormat, streamFrameBytes, streamSampleBytes } from '../../src/agent/audio/format.rules.ts'
import { wavHeader } from '../../src/agent/audio/wav.rules.ts'
import { captureDevice } from '../../src/agent/capture/devices.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { CaptureBackend } from '../../src/wire/nodes.ts'
import { until } from '../kit/whole.ts'
import { Cards, missingPackages } from './card.ts'
import { PEAK, RATE, turns } from './signal.ts'

const WIDE = 8
const SECONDS = 2

const onPath = (program: string): boolean =>
  (process.env.PATH ?? '').split(':').some((dir) => fs.existsSync(path.join(dir, program)))
const without = (...programs: string[]) => {
  const missing = programs.filter((program) => !onPath(program))
  return missing.length > 0 && `needs ${missing.join(', ')}`
}

function tempDir(t: TestContext): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-servers-'))
  t.after(() => fs.rmSync(dir, { force: true, recursive: true }))
  return dir
}

/** Amplitude of channel `tone`'s tone in a channel of the stream, over a tenth of a second in its middle. */
function level(pcm: Buffer, f: PcmFormat, channel: number, tone: number): number {
  const count = RATE / 10
  const bytes = streamSampleBytes(f.format)
  const first = Math.floor(pcm.length / streamFrameBytes(f) / 2)
  let [real, imaginary] = [0, 0]
  for (let i = 0; i < count; i++) {
    const at = (first + i) * streamFrameBytes(f) + channel * bytes
    // A window: the tones are no whole number of periods here.
    const value = (pcm.readIntLE(at, bytes) / 2 ** (8 * bytes - 1)) * (1 - Math.cos((2 * Math.PI * i) / count))
    const angle = 2 * Math.PI * turns(tone, i)
    real += value * Math.cos(angle)
    imaginary += value * Math.sin(angle)
  }
  return (2 * Math.hypot(real, imaginary)) / count
}

/** Each channel has its own tone at its own level, and nobody else's. */
function judge(pcm: Buffer, f: PcmFormat): void {
  for (let channel = 0; channel < f.channels; channel++)
    for (let tone = 1; tone <= WIDE; tone++) {
      const expected = tone === channel + 1 ? PEAK : 0
      const heard = level(pcm, f, channel, tone)
      assert.ok(Math.abs(heard - expected) < 0.01, `channel ${channel + 1} has ${heard} of tone ${tone}`)
    }
}

interface Heard {
  format: PcmFormat
  pcm: Buffer
}

/** Captures as the agent does until there is enough; what there is when the program ends before. */
async function hear(backend: CaptureBackend, device: string, env: NodeJS.ProcessEnv, asked: PcmFormat): Promise<Heard> {
  const opened = captureDevice({ backend, command: 'arecord', device, env, seconds: SECONDS }, systemClock)
  const format = (await opened.gives?.(asked)) ?? asked
  const source = opened.open(format)
  const enough = SECONDS * RATE * streamFrameBytes(format)
  const parts: Buffer[] = []
  let bytes = 0
  source.pcm.on('data', (part: Buffer) => {
    parts.push(part)
    bytes += part.length
    if (bytes >= enough) source.stop()
  })
  const { stderr, stopped } = await source.ended
  assert.ok(stopped, stderr)
  return { format, pcm: Buffer.concat(parts) }
}

const jack = missingPackages() || without('jack_capture', 'jack_samplerate')
test('JACK: the ports that were asked for, in their order, at the rate of the server', { skip: jack }, async (t) => {
  const cards = await Cards.lay(path.join(tempDir(t), 'cards'))
  t.after(() => cards.close())
  for (const channels of [2, WIDE]) {
    const ports = Array.from({ length: channels }, (_, i) => `jackplay:out_${i + 1}`)
    const asked: PcmFormat = { channels, format: 'S24_LE', rate: 44_100 }
    const { format, pcm } = await hear('jack', ports.join(), { ...process.env, ...cards.env }, asked)
    assert.deepEqual(format, { channels, format: 'S16_LE', rate: RATE })
    judge(pcm, format)
  }
})

/** A PipeWire of its own with a device of eight channels without names of loudspeakers, which hear the tones. */
class PipeWire {
  readonly env: NodeJS.ProcessEnv
  readonly #dir: string
  readonly #programs: ChildProcess[] = []

  private constructor(dir: string) {
    this.#dir = dir
    this.env = { ...process.env, HOME: dir, XDG_RUNTIME_DIR: dir }
  }

  static async start(t: TestContext, dir: string): Promise<PipeWire> {
    const server = new PipeWire(dir)
    t.after(() => server.#end())
    server.#start('pipewire')
    await until('PipeWire', () => fs.existsSync(path.join(dir, 'pipewire-0')))
    server.#start('dbus-run-session', '--', 'wireplumber')
    const names = Array.from({ length: WIDE }, (_, i) => `AUX${i}`)
    const device =
      'factory.name=support.null-audio-sink node.name=Desk media.class=Audio/Source/Virtual object.linger=true'
    server.#start(
      'pw-cli',
      'create-node',
      'adapter',
      `{ ${device} audio.rate=${RATE} audio.position=[${names.join(' ')}] }`,
    )
    // 0: nobody links it but we.
    const player = ['--target', '0', '--channel-map', names.join(), '--properties', '{ stream.dont-remix=true }']
    server.#start('pw-play', ...player, server.#tones())
    for (const name of names)
      await until(`the tone in ${name}`, async () => {
        await server.#link(`pw-play:output_${name}`, `Desk:input_${name}`)
        return (await server.#link('--links')).includes(`|-> Desk:input_${name}\n`)
      })
    return server
  }

  async #end(): Promise<void> {
    for (const program of this.#programs.reverse()) {
      if (program.exitCode !== null || program.signalCode !== null) continue
      const gone = once(program, 'exit')
      // With its session bus, which does not end by itself.
      process.kill(-program.pid!, 'SIGTERM')
      await gone
    }
  }

  #start(program: string, ...args: string[]): void {
    this.#programs.push(spawn(program, args, { detached: true, env: this.env, stdio: 'ignore' }))
  }

  /** What pw-link says. */
  async #link(...args: string[]): Promise<string> {
    const child = spawn('pw-link', args, { env: this.env, stdio: ['ignore', 'pipe', 'ignore'] })
    return (await child.stdout.setEncoding('utf8').toArray()).join('')
  }

  /** A minute of every channel's tone. */
  #tones(): string {
    const second = Buffer.alloc(RATE * WIDE * 4)
    for (let frame = 0; frame < RATE; frame++)
      for (let channel = 1; channel <= WIDE; channel++) {
        const value = PEAK * Math.sin(2 * Math.PI * turns(channel, frame))
        second.writeInt32LE(Math.round(value * 0x7fffffff), (frame * WIDE + channel - 1) * 4)
      }
    const header = wavHeader({ channels: WIDE, dataBytes: 60 * second.length, format: 'S32_LE', rate: RATE })
    const file = path.join(this.#dir, 'tones.wav')
    fs.writeFileSync(file, Buffer.concat([header, ...Array(60).fill(second)]))
    return file
  }
}

const pipewire = without('pipewire', 'wireplumber', 'pw-record', 'pw-cli', 'pw-link', 'dbus-run-session')
test('PipeWire: every channel as it is, bare samples, and no other device', { skip: pipewire }, async (t) => {
  const server = await PipeWire.start(t, tempDir(t))
  for (const format of ['S16_LE', 'S24_3LE', 'S32_LE'] as const)
    for (const channels of [2, WIDE]) {
      const { pcm, ...heard } = await hear('pipewire', 'Desk', server.env, { channels, format, rate: RATE })
      judge(pcm, heard.format)
    }
  const request = { backend: 'pipewire', command: 'arecord', device: 'Elsewhere', env: server.env, seconds: 1 } as const
  const source = captureDevice(request, systemClock).open({ channels: 2, format: 'S16_LE', rate: RATE })
  source.pcm.on('data', () => assert.fail('it records something else'))
  // As long as the others took to be heard, and longer.
  await sleep(2000)
  source.kill()
})
