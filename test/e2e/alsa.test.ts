// Sound through arecord and ALSA, from the card to the controller. Shown here: the real arecord with the real options; every
// channel at its place; every sample that is no silence is the card's, next to its neighbours; every silence is one the agent
// told of, in its log and with the take, as long as it said; behind it the card goes on where it had stopped.
// Not shown here: that no silence was needed. This card's clock is a program's (a JACK graph), and stands still when the
// machine is busy; the agent has to put silence there. A card that counts on (`npm run bench -- --only capture`) shows that.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Interface, Node } from '../../src/wire/nodes.ts'
import { Agent, Controller, House } from '../kit/whole.ts'
import { CARDS, type Card, Cards, missingPackages, PERIOD } from './card.ts'
import { childrenOf, commandOf } from './processes.ts'
import { assertNothingLost, assertSignal, type Heard, RATE, upTo } from './signal.ts'
import type { Gap } from './sound.ts'
import { assertOwnedUp } from './told.ts'

describe('sound through ALSA', { skip: missingPackages() }, () => {
  let house: House
  let cards: Cards
  let controller: Controller
  let agent: Agent
  let nodeId: string
  let profile: string
  let devices: Map<string, Interface>

  before(async () => {
    house = await House.open()
    cards = await Cards.lay(house.path('cards'))
    controller = await (await new Controller(house).start()).login()
    const { id, token } = await controller.enroll('rig', { recordingCapacity: { maxConcurrentRecordings: 8 } })
    nodeId = id
    profile = await controller.plainProfile('wav')
    const env = { SVC_CONTROLLER_TOKEN: token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: id }
    agent = new Agent(house, { ...env, ...cards.env, SVC_HEARTBEAT_SECONDS: '1' }).start()
    await controller.online(nodeId)
    const node: Node = await controller.get(`/nodes/${nodeId}`)
    devices = new Map(node.interfaces.map((device) => [device.systemName, device]))
    assert.deepEqual([...devices.keys()].sort(), ['Desk', 'Stage'])
  })
  after(async () => {
    await house?.close()
    await cards?.close()
  })

  const record = (card: Card, seconds: number, more: object = {}) =>
    controller.record(nodeId, profile, seconds, { captureInterfaceId: devices.get(card)!.id, ...more })

  /**
   * Without a first period of silence: ALSA's plugin starts the graph, and then connects its channels to the card, one by one. A real
   * card sounds when it is opened.
   */
  const connected = (heard: Heard): Heard => {
    const isFirst = ({ atFrame, seconds }: Gap) => atFrame === 0 && Math.round(seconds * RATE) <= PERIOD
    return { ...heard, silences: heard.silences.filter((silence) => !isFirst(silence)) }
  }

  /** Waits for the take, and holds it against the card. */
  const verify = async (
    taken: Awaited<ReturnType<typeof record>>,
    sources: number[],
    seconds: number,
    bytes: number,
  ) => {
    const { id } = taken.recording
    const recording = await controller.delivered(id, taken.job.id)
    const file = house.path(`${id}.wav`)
    fs.writeFileSync(file, await controller.file(id))
    const what = `${id} of channels ${sources}`
    const heard = connected(assertSignal(file, sources, what, PERIOD))
    assertNothingLost(heard, what)
    assertOwnedUp(agent, taken.job.id, recording, heard)
    const { layout } = heard
    assert.deepEqual([layout.frames, layout.bytes], [seconds * RATE, bytes])
    fs.rmSync(file)
  }

  /** How many programs of the agent have the card open. */
  const openings = (card: Card): number => {
    const programs = childrenOf(agent.program.child.pid!, 'arecord')
    return programs.filter((pid) => commandOf(pid).includes(`CARD=${card},`)).length
  }

  for (const [format, bytes] of [
    ['S16_LE', 2],
    ['S32_LE', 4],
  ] as const)
    test(`8 and 32 channels of ${format} at once: every channel its own tone, no sample lost, exact length`, async () => {
      await controller.get(`/nodes/${nodeId}`, 'PATCH', { audioDefaults: { captureFormat: format } })
      const takes = []
      for (const card of ['Desk', 'Stage'] as const) {
        const captureChannelSelection = upTo(CARDS[card])
        takes.push(await record(card, 4, { captureChannelSelection, channelMode: 'multichannel' }))
      }
      await verify(takes[0]!, upTo(8), 4, bytes)
      await verify(takes[1]!, upTo(32), 4, bytes)
    })

  test('four jobs of one card open it once, and a fifth that joins later gets its part', async () => {
    await controller.get(`/nodes/${nodeId}`, 'PATCH', { audioDefaults: { captureFormat: 'S16_LE' } })
    const parts = [[31, 32], [1, 2], [3], [6, 5]]
    const takes = []
    for (const captureChannelSelection of parts) takes.push(await record('Stage', 16, { captureChannelSelection }))
    for (const { job } of takes) await agent.capturing(job.id)
    assert.equal(openings('Stage'), 1)
    await sleep(1000)
    const late = await record('Stage', 6, { captureChannelSelection: [17, 9] })
    await agent.capturing(late.job.id)
    assert.equal(openings('Stage'), 1)
    for (const [n, sources] of parts.entries()) await verify(takes[n]!, sources, 16, 2)
    await verify(late, [17, 9], 6, 2)
    assert.ok(openings('Stage') <= 1, 'meters at most')
  })
})
