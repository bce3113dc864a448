// Maintenance and takes race for the agent: what is claimed is never cut, and what was asked for is recorded whole.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type * as http from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { askHold, endHold, isHeld } from '../../src/system/host/hold.ts'
import { heldTakes } from '../../src/system/host/takes.ts'
import { executable } from '../kit/executable.ts'
import { until } from './jobs/kit.ts'
import { type Handler, json, serve, stored, tempDir } from './server.ts'

const program = await executable()
const SECONDS = 2
const WHOLE_BYTES = 48_000 * 2 * 2 * SECONDS

interface Offer {
  confirmed: boolean
  handed: boolean
  id: string
  /** Bytes of the take as it arrived. */
  uploaded?: number
}

const jobOf = ({ id, uploaded }: Offer) => ({
  command: {
    captureChannels: 2,
    captureDevice: 'test:speed=20',
    captureFormat: 'S16_LE',
    captureSampleRate: 48_000,
    durationSeconds: SECONDS,
    outputCodec: 'wav',
    outputFileName: `${id}.wav`,
    type: 'alsa_capture',
  },
  id: `job_${id}`,
  nodeId: 'node_1',
  recordingId: `rec_${id}`,
  status: uploaded === undefined ? 'running' : 'completed',
})

/** Hands out as the real one does: again what was neither confirmed nor is held; an answer may get lost on its way. */
class Desk {
  readonly offers: Offer[] = []
  #waiting: [response: http.ServerResponse, holding: string[]][] = []

  offer(): void {
    this.offers.push({ confirmed: false, handed: false, id: String(this.offers.length) })
    for (const [response, holding] of this.#waiting.splice(0)) this.#answer(response, holding)
  }

  #answer(response: http.ServerResponse, holding: string[]): boolean {
    const next = this.offers.find(
      (one) => one.uploaded === undefined && !holding.includes(`job_${one.id}`) && !one.confirmed,
    )
    if (!next) return false
    next.handed = true
    json(response, 200, { data: [jobOf(next)] })
    return true
  }

  readonly handle: Handler = (seen, response) => {
    const id = /(?:job|rec)_(\d+)/.exec(seen.url)?.[1]
    const offer = id === undefined ? undefined : this.offers[Number(id)]
    if (seen.url.includes('claim-next-group')) {
      const { holding } = JSON.parse(seen.body.toString())
      if (this.#answer(response, holding)) return
      if (seen.url.includes('waitSeconds=0')) response.writeHead(204).end()
      else this.#waiting.push([response, holding])
    } else if (seen.method === 'HEAD') response.writeHead(404).end()
    else if (seen.method === 'PUT' && offer) {
      offer.uploaded = seen.body.length
      stored(response, seen)
    } else if (offer) {
      if (seen.url.includes('/heartbeat')) offer.confirmed = true
      // One that waits for news gets it when there is some, or the next time.
      setTimeout(() => json(response, 200, { data: jobOf(offer) }), seen.url.includes('waitSeconds') ? 100 : 0)
    } else if (seen.url.endsWith('/config'))
      json(response, 200, { data: { recordingCapacity: { maxConcurrentRecordings: 2 } } })
    else json(response, 202, { data: {} })
  }
}

async function place(t: TestContext) {
  const [desk, dir] = [new Desk(), tempDir(t)]
  const { url } = await serve(t, desk.handle)
  let said = ''
  const start = (): ChildProcess => {
    const env = {
      HOME: dir,
      PATH: process.env.PATH,
      SVC_AGENT_DIR: dir,
      SVC_CONTROLLER_TOKEN: 'svc_node_t',
      SVC_CONTROLLER_URL: url,
      SVC_NODE_ID: 'node_1',
      SVC_SYSTEM_HEALTH_ENABLED: 'false',
      SVC_TEST_SOURCE: '1',
    }
    const child = spawn(program, ['agent'], { cwd: dir, env })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (said += piece))
    t.after(() => child.kill('SIGKILL'))
    return child
  }
  /** Asks as maintenance does; resolves when the agent has answered. */
  const hold = async ({ pid }: ChildProcess): Promise<string> => {
    const id = askHold(dir, 600)
    await until(() => isHeld(dir, id, pid as number))
    return id
  }
  return { desk, dir, hold, said: () => said, start }
}

/** Always the same numbers, 0 to 1. */
function numbers(seed: number): () => number {
  let at = seed
  return () => {
    at = (at * 16_807) % 2_147_483_647
    return at / 2_147_483_647
  }
}

/** So many times: a hold, and around the moment at which the agent sees it, a take that is asked for. */
async function race(t: TestContext, seed: number, count: number): Promise<void> {
  const { desk, dir, hold, said, start } = await place(t)
  const random = numbers(seed)
  let agent = start()
  const rounds = { refused: 0, restarted: 0, still: 0 }
  for (let round = 0; round < count; round++) {
    const offered = sleep(random() * 400).then(() => desk.offer())
    const id = await hold(agent)
    const claims = () => desk.offers.filter(({ confirmed }) => confirmed).length
    if (heldTakes(dir).running > 0) rounds.refused++
    else {
      const before = claims()
      if (round % 12 === 0) {
        rounds.restarted++
        agent.kill('SIGTERM')
        await once(agent, 'close')
        agent = start()
        // A version on trial begins nothing either.
        await until(() => isHeld(dir, id, agent.pid as number))
      } else rounds.still++
      await offered
      assert.deepEqual([heldTakes(dir).running, claims()], [0, before], `round ${round}: ${said()}`)
    }
    endHold(dir)
    await offered
  }
  await until(() => desk.offers.every(({ uploaded }) => uploaded !== undefined))
  const cut = desk.offers.filter(({ uploaded = 0 }) => uploaded < WHOLE_BYTES)
  assert.deepEqual(cut, [])
  assert.ok(rounds.still > 0, JSON.stringify(rounds))
  t.diagnostic(JSON.stringify(rounds))
  agent.kill('SIGTERM')
  await once(agent, 'close')
}

describe('a take that is asked for while maintenance begins is recorded whole, before it or after it', {
  concurrency: true,
}, () => {
  for (const seed of [2026, 2027]) test(`seed ${seed}`, (t) => race(t, seed, 40))
})
