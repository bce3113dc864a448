import { execFile } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { elapsed, type Row } from './measure.ts'
import { arrived, type Recorder, recorder, type Taken, UNTOUCHED } from './recorder.ts'
import type { Place } from './world.ts'

const SECONDS = 600
/** Ten minutes of audio in less than one. */
const SPEED = 12
const FRAME_BYTES = 4
const RATE = 48_000

/** From the stop of a long take until the controller has its mp3, against encoding the same take from its beginning. */
export async function finish(place: Place): Promise<Row[]> {
  const machine = await recorder(place, { SVC_ALSA_PROC_ROOT: place.dir, SVC_TEST_SOURCE: '1' })
  try {
    const device = await machine.device('test:tone')
    const ref = { systemRef: `test:speed=${SPEED}` }
    await machine.world.call('PATCH', `/nodes/${machine.node.id}/interfaces/${device}`, ref)
    const wish = { captureInterfaceId: device, durationSeconds: 2 * SECONDS }
    const taken = await machine.record(wish, { codec: 'mp3', enhancement: UNTOUCHED })
    const copy = await grown(place, taken)
    const stopped = await elapsed(() => stoppedAndDelivered(machine, taken))
    const own = await elapsed(() => encode(copy))
    return [
      {
        name: 'finish',
        measured: stopped / 1000,
        limit: 5,
        unit: 's',
        bound: 'most',
        how: `POST stop to the recording being cached, stereo mp3 take of ${SECONDS} s of the test source at ${SPEED} times its speed; ffmpeg alone encodes the same take in ${(own / 1000).toFixed(1)} s`,
      },
    ]
  } finally {
    await machine.stop()
  }
}

/** Waits until the take is long enough; resolves with a second name of its file, which outlives the agent's. */
async function grown({ dir }: Place, { job }: Taken): Promise<string> {
  const copy = path.join(dir, 'finish.wav')
  for (;;) {
    const work = fs.readdirSync(dir).filter((name) => name.startsWith('agent-'))
    const files = work.map((name) => path.join(dir, name, 'takes', job.id, 'take.wav'))
    const file = files.find((name) => fs.existsSync(name))
    if (file && fs.statSync(file).size >= SECONDS * RATE * FRAME_BYTES) {
      fs.linkSync(file, copy)
      return copy
    }
    await sleep(50)
  }
}

async function stoppedAndDelivered(machine: Recorder, taken: Taken): Promise<void> {
  await machine.world.call('POST', `/recordings/${taken.recording.id}/stop`)
  await arrived(machine, taken, (recording) => recording.cached)
}

async function encode(file: string): Promise<void> {
  const output = ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3', '-y', `${file}.mp3`]
  await promisify(execFile)('ffmpeg', ['-v', 'error', '-nostdin', '-i', file, ...output])
}
