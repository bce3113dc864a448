// Answers of any kind to real recorders: none crashes, memory is flat, what is recorded is recorded. As a program:
// scripts/node test/e2e/nonsense.ts [--rounds 100000] [--seed N] [--recorders 8]
// A recorder asks a few times a second: of so many answers a fiftieth is for the recorders, the rest for the client in them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import { executable } from '../kit/executable.ts'
import { allocatorOf } from '../kit/unit.ts'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { type Dice, dice } from '../sweeps/fuzz.ts'
import { NOISE, NONSENSE, type Said } from './badanswers.ts'
import { assertFlat, residentMiB } from './memory.ts'
import { linkRounds } from './nonsense.link.ts'
import { assertExact, framesOf, readWav } from './sound.ts'

/** `calm`: the controller's own answers; `noise`: `NOISE` in place of many; `nonsense`: all there is in place of most. */
type Mood = 'calm' | 'noise' | 'nonsense'

const SECONDS = 4
const RATE = 48_000
/** Of nonsense, between two takes. */
const NONSENSE_MS = 15_000
const SHARE = { calm: 0, noise: 0.7, nonsense: 0.9 }
const KINDS = { calm: {}, noise: NOISE, nonsense: { ...NOISE, ...NONSENSE } }

interface Between {
  /** Answers that were not the controller's, by kind. */
  counts: Record<string, number>
  mood: Mood
  url: string
  close(): Promise<void>
}

const bodyOf = async (message: http.IncomingMessage): Promise<Buffer> => Buffer.concat(await message.toArray())

/** Asks the controller as it was asked. */
async function passOn(target: string, request: http.IncomingMessage): Promise<Said> {
  const { headers, method, url } = request
  const onward = http.request(new URL(url!, target), { headers: { ...headers, connection: 'close' }, method })
  request.pipe(onward)
  request.once('close', () => request.complete || onward.destroy())
  const [answer] = (await once(onward, 'response')) as [http.IncomingMessage]
  const kept = ['content-type', 'date', 'etag', 'upload-offset', 'x-svc-term', 'retry-after']
  const own = kept.flatMap((name) => (answer.headers[name] ? [[name, String(answer.headers[name])]] : []))
  return { body: await bodyOf(answer), headers: Object.fromEntries(own), status: answer.statusCode! }
}

/** Between recorders and the controller at `target`. */
async function standBetween(target: string, d: Dice): Promise<Between> {
  const serve = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const kinds = Object.entries(KINDS[between.mood])
    const twist = kinds.length > 0 && d.chance(SHARE[between.mood]) ? d.of(kinds) : undefined
    // Some of what is lost never came to the controller.
    const ate = twist !== undefined && d.chance(0.3)
    const said = ate ? { body: await bodyOf(request), headers: {}, status: 200 } : await passOn(target, request)
    if (!twist) {
      response.writeHead(said.status, { ...said.headers, connection: 'close' }).end(said.body)
      return
    }
    between.counts[twist[0]] = (between.counts[twist[0]] ?? 0) + 1
    await twist[1](d, said, request.socket)
  }
  // Whatever breaks one end breaks the other.
  const server = http.createServer((request, response) => {
    request.socket.on('error', () => request.socket.destroy())
    serve(request, response).catch(() => request.socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const between: Between = { close, counts: {}, mood: 'calm', url }
  return between
}

interface Recorder {
  agent: Agent
  memory: number[]
  nodeId: string
}

interface Place {
  between: Between
  controller: Controller
  profileId: string
  recorders: Recorder[]
}

/** `undo` gets what ends it all, in the order of making. */
async function settle(count: number, d: Dice, undo: (() => unknown)[]): Promise<Place & { house: House }> {
  const house = await House.open(await executable())
  undo.push(() => house.close())
  const controller = await (await new Controller(house).start()).login()
  const between = await standBetween(controller.url, d)
  undo.push(() => between.close())
  const profileId = await controller.plainProfile('wav')
  const recorders: Recorder[] = []
  for (let n = 0; n < count; n++) {
    const { id: nodeId, token } = await controller.enroll(`recorder ${n}`)
    const env = {
      ...allocatorOf('agent'),
      SVC_CONTROLLER_READ_TIMEOUT_MS: '3000',
      SVC_CONTROLLER_TOKEN: token,
      SVC_CONTROLLER_URL: between.url,
      SVC_HEARTBEAT_SECONDS: '1',
      SVC_JOB_POLL_SECONDS: '1',
      SVC_NODE_ID: nodeId,
    }
    recorders.push({ agent: new Agent(house, env, [], `agent-${n}`).start(), memory: [], nodeId })
  }
  for (const { nodeId } of recorders) await controller.online(nodeId)
  return { between, controller, house, profileId, recorders }
}

/** Somebody looks at the levels of all recorders: that makes them talk. Gives how to look away. */
function watch({ controller, recorders }: Place): () => void {
  const nodes = recorders.map(({ nodeId }) => nodeId).join()
  const aborter = new AbortController()
  const { session, url } = controller
  const headers = { authorization: `Bearer ${session}` }
  void fetch(`${url}/api/v1/meter-events?nodes=${nodes}&detail=levels`, { headers, signal: aborter.signal })
    .then(async ({ body }) => {
      for await (const _ of body!);
    })
    .catch(() => {}) // looked away
  return () => aborter.abort()
}

/** A take of each recorder, with noise while it is captured: it arrives as it was to be heard. */
async function take({ between, controller, profileId, recorders }: Place): Promise<void> {
  const takes: { agent: Agent; job: Job; recording: Recording }[] = []
  for (const { agent, nodeId } of recorders)
    takes.push({ agent, ...(await controller.record(nodeId, profileId, SECONDS)) })
  for (const { agent, job } of takes) await agent.capturing(job.id)
  between.mood = 'noise'
  await sleep(SECONDS * 1000 + 1000)
  between.mood = 'calm'
  for (const { job, recording } of takes) {
    await controller.delivered(recording.id, job.id, 120)
    const heard = readWav(await controller.file(recording.id))
    assert.equal(framesOf(heard), SECONDS * RATE)
    assertExact(heard, recording.id)
    await controller.ask('DELETE', `/recordings/${recording.id}`)
  }
}

/** Nothing but nonsense for a while; then everybody is back, with the process he was. */
async function rave({ between, controller, recorders }: Place): Promise<void> {
  between.mood = 'nonsense'
  await sleep(NONSENSE_MS)
  between.mood = 'calm'
  const since = Date.now()
  for (const { agent, memory, nodeId } of recorders) {
    assert.equal(
      agent.program.child.exitCode ?? agent.program.child.signalCode,
      null,
      agent.program.said().slice(-3000),
    )
    memory.push(residentMiB(agent.program.child.pid!))
    await until(
      'the recorder to be back',
      async () => {
        const { lastSeenAt, status } = await controller.get(`/nodes/${nodeId}`)
        return Date.parse(lastSeenAt) > since && status === 'online'
      },
      120,
    )
  }
}

/** At least so many answers that were not the controller's. Throws with what was found. */
export async function rounds(
  count: number,
  seed: number,
  tell: (line: string) => void,
  recorders: number,
): Promise<void> {
  const undo: (() => unknown)[] = []
  const place = await settle(recorders, dice(seed), undo)
  undo.push(watch(place))
  const { between } = place
  const total = () => Object.values(between.counts).reduce((sum, n) => sum + n, 0)
  try {
    for (let number = 0; total() < count; number++) {
      await take(place)
      await rave(place)
      const memory = place.recorders.map((one) => one.memory.at(-1)!.toFixed(0))
      tell(`${number} seed=${seed} ${total()} answers, MiB ${memory.join(' ')}`)
    }
    tell(JSON.stringify(between.counts))
    for (const [n, { memory }] of place.recorders.entries()) tell(assertFlat(`recorder ${n}`, memory))
  } catch (e) {
    ;(e as Error).message =
      `seed=${seed}, ${total()} answers: ${(e as Error).message}\n${place.house.said().slice(-6000)}`
    throw e
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      recorders: { default: '8', type: 'string' },
      rounds: { default: '2000', type: 'string' },
      seed: { type: 'string' },
    },
  })
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e6))
  const tell = (line: string) => void process.stdout.write(`${line}\n`)
  await linkRounds(Number(values.rounds), seed, tell)
  await rounds(Number(values.rounds) / 50, seed, tell, Number(values.recorders))
  // What the sweeps have opened for themselves.
  process.exit()
}
