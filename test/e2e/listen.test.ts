// Somebody listens to a room: gapless sound as long as they want it, and nothing at all once they have gone.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { Agent, Controller, House, until } from '../kit/whole.ts'

const RATE = 16_000
const HEAD = 44

interface Ear {
  /** Samples so far. */
  count(): number
  heard(): Int16Array
  leave(): Promise<void>
  sessionId: string
}

describe('live listen', () => {
  let house: House
  let controller: Controller
  let agent: Agent
  let nodeId: string

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house).start()).login()
    const { id, token } = await controller.enroll('listened')
    nodeId = id
    const env = { SVC_CONTROLLER_TOKEN: token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: id }
    agent = new Agent(house, env).start()
    await controller.online(nodeId)
  })
  after(() => house.close())

  const start = (enhance = false) => controller.post(`/nodes/${nodeId}/listen`, { enhance })
  const stop = (sessionId: string) => controller.ask('DELETE', `/nodes/${nodeId}/listen/${sessionId}`)
  const threads = () => fs.readdirSync(`/proc/${agent.program.child.pid}/task`).length

  /** Begins to listen and collects what comes. */
  async function listen(): Promise<Ear> {
    const { sessionId } = await start()
    const aborting = new AbortController()
    const headers = { authorization: `Bearer ${controller.session}` }
    const url = `${controller.url}/api/v1/nodes/${nodeId}/listen/stream?sessionId=${sessionId}&continuous=1`
    const response = await fetch(url, { headers, signal: aborting.signal })
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'audio/wav'])
    const parts: Uint8Array[] = []
    let bytes = 0
    const read = async () => {
      for await (const part of response.body!) {
        parts.push(part)
        bytes += part.length
      }
    }
    // Rejects when the listener leaves.
    const reading = read().catch(() => undefined)
    const count = () => Math.max(0, Math.floor((bytes - HEAD) / 2))
    const heard = () => new Int16Array(Uint8Array.from(Buffer.concat(parts)).buffer.slice(HEAD, HEAD + 2 * count()))
    const leave = async () => {
      aborting.abort()
      await reading
    }
    return { count, heard, leave, sessionId }
  }

  /** The chunk that follows one; its sequence, rendition, and when its audio ends (Unix ms). */
  async function poll(sessionId: string, after: string | null) {
    const query = `sessionId=${sessionId}&waitSeconds=10${after === null ? '' : `&after=${after}`}`
    const response = await controller.raw('GET', `/nodes/${nodeId}/listen/stream?${query}`)
    await response.arrayBuffer()
    const of = (name: string) => response.headers.get(`x-svc-${name}`)
    return { rendition: of('rendition'), sequence: of('sequence'), status: response.status }
  }

  /** Seconds since the agent's latest piece; undefined when it has sent none. */
  const age = async (): Promise<number | undefined> => {
    const headers = { authorization: `Bearer ${controller.session}` }
    const response = await fetch(`${controller.url}/metrics`, { headers })
    assert.equal(response.status, 200)
    const text = await response.text()
    const found = /^\w*listen_monitor_chunk_age_seconds\{[^}]*\} (\S+)/m.exec(text)?.[1]
    return found === undefined ? undefined : Number(found)
  }

  test('nobody listens: nothing is sent', async () => {
    assert.equal(await age(), undefined)
  })

  test('a listener hears the tones of the room without a gap, as many seconds as pass', async () => {
    const ear = await listen()
    await until('the first sound', () => ear.count() > 0)
    const [from, had] = [performance.now(), ear.count()]
    await until('eight seconds of sound', () => ear.count() >= had + 8 * RATE)
    const passed = (performance.now() - from) / 1000
    const heard = ear.heard()
    await ear.leave()
    await stop(ear.sessionId)
    // A pile or a drift would show; a piece more or less does not.
    assert.ok(Math.abs(passed - 8) < 2, `8 s of sound in ${passed} s`)
    // Tones of 100 and 200 Hz at -12 dBFS, averaged, repeat every 10 ms: so does every sample of it, for the whole time.
    const period = RATE / 100
    const sound = heard.subarray(RATE / 10)
    let worst = 0
    for (let n = period; n < sound.length; n++) worst = Math.max(worst, Math.abs(sound[n]! - sound[n - period]!))
    assert.ok(worst <= 3, `a sample differs by ${worst} from the one a period before`)
    const peak = sound.reduce((most, x) => Math.max(most, Math.abs(x)), 0)
    assert.ok(peak > 5000 && peak < 8300, `peak of ${peak}`)
  })

  test('once nobody listens the agent sends nothing any more', async () => {
    // The last piece grows old.
    await until('two seconds without a piece', async () => (await age())! > 2)
  })

  test('a listener may have it enhanced: it comes, goes with them, and takes its thread along', async () => {
    const idle = threads()
    const { sessionId } = await start(true)
    const heard = new Map<string, number>()
    let after: string | null = null
    await until('enhanced sound', async () => {
      const { rendition, sequence, status } = await poll(sessionId, after)
      if (status === 200) after = sequence
      heard.set(String(rendition), (heard.get(String(rendition)) ?? 0) + 1)
      return (heard.get('enhanced') ?? 0) >= 8
    })
    assert.ok(threads() > idle, `${threads()} threads, ${idle} before`)
    // Once enhanced it stays enhanced.
    assert.equal((await poll(sessionId, after)).rendition, 'enhanced')
    await stop(sessionId)
    await until('the denoising thread to be gone', () => threads() <= idle)
    assert.deepEqual(
      agent.events().filter(({ type }) => type.startsWith('agent.listen_monitor')),
      [],
    )
  })
})
