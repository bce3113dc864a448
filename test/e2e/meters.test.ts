// What the inputs of a node show, from the device to whoever asks the controller, on the built executable.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { LevelFrame, MeterFrame } from '../../src/wire/meters.ts'
import type { Node } from '../../src/wire/nodes.ts'
import { reading } from '../kit/reading.ts'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { CARDS, Cards, missingPackages } from './card.ts'
import { PEAK, RATE, upTo } from './signal.ts'

describe('meters', () => {
  let house: House
  let controller: Controller

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house).start()).login()
  })
  after(() => house.close())

  const agent = async (name: string, env: Record<string, string> = {}) => {
    const { id, token } = await controller.enroll(name)
    const own = { SVC_CONTROLLER_TOKEN: token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: id, ...env }
    return { agent: new Agent(house, own, [], name).start(), id }
  }

  const shown = (id: string, what: string, wanted: (frame: MeterFrame) => boolean): Promise<MeterFrame> =>
    until(what, async () => {
      const frame: MeterFrame = await controller.get(`/nodes/${id}/meters`)
      return frame.levels.length > 0 && wanted(frame) ? frame : undefined
    })

  const peaks = ({ levels }: MeterFrame) => levels.map(({ channelIndex, peakDbfs }) => [channelIndex, peakDbfs])

  test('a node that records nothing shows the levels of its device, second by second, under the id of its interface', async () => {
    const { agent: idle, id } = await agent('idle')
    const { id: interfaceId } = await controller.online(id)
    const first = await shown(id, 'the first frame', (frame) => frame.interfaceId === interfaceId)
    assert.deepEqual(peaks(first), [
      [1, -12],
      [2, -12],
    ])
    assert.equal(first.synthetic, true, 'a generator is no microphone')
    const next = await shown(id, 'another frame', ({ capturedAt }) => capturedAt > first.capturedAt)
    assert.deepEqual(peaks(next), peaks(first))
    assert.deepEqual(await idle.program.end('SIGTERM'), [0, null], idle.program.said())
  })

  test('a take is metered while it is captured, and whole', async () => {
    const { agent: taking, id } = await agent('taking')
    const { id: interfaceId } = await controller.online(id)
    const { job, recording } = await controller.record(id, await controller.plainProfile('wav'), 4)
    await taking.capturing(job.id)
    const begun = new Date().toISOString()
    const frame = await shown(id, 'a frame of the take', ({ capturedAt }) => capturedAt > begun)
    assert.deepEqual(
      [frame.interfaceId, peaks(frame)],
      [
        interfaceId,
        [
          [1, -12],
          [2, -12],
        ],
      ],
    )
    assert.equal((await controller.delivered(recording.id, job.id)).durationSeconds, 4)
    assert.deepEqual(await taking.program.end('SIGTERM'), [0, null], taking.program.said())
  })

  /** Times of the next frames of levels, by the recorder's clock: how long the words took to come is nothing of theirs. */
  const levels = async (query: string, count: number): Promise<number[]> => {
    const stream = reading(await controller.raw('GET', `/meter-events?detail=levels${query}`))
    const times: number[] = []
    while (times.length < count) times.push(Date.parse(((await stream.event('levels')) as LevelFrame).at))
    await stream.cancel()
    return times
  }
  const perSecond = (times: number[]): number => ((times.length - 1) * 1000) / (times.at(-1)! - times[0]!)

  test('levels come four times a second while somebody watches a node, and several together when nobody does', async () => {
    const { agent: watched, id } = await agent('watched')
    await controller.online(id)
    await shown(id, 'the first frame', () => true)
    const quick = (await levels(`&nodes=${id}`, 20)).slice(-9)
    assert.ok(perSecond(quick) >= 3, quick.join(' '))
    // Chooses no node, and so asks for nothing; it would be told of quick frames that are still sent.
    await until('nobody to be watching', async () => perSecond(await levels('', 3)) < 0.3 || undefined)
    assert.deepEqual(await watched.program.end('SIGTERM'), [0, null], watched.program.said())
  })

  test('a node told to make frames up says so in every one', async () => {
    const { agent: making, id } = await agent('making', { SVC_METER_BACKEND: 'synthetic' })
    const frame = await shown(id, 'a made-up frame', () => true)
    assert.deepEqual([frame.synthetic, frame.levels.length], [true, 2])
    assert.deepEqual(await making.program.end('SIGTERM'), [0, null], making.program.said())
  })
})

describe('meters of sound cards', { skip: missingPackages() }, () => {
  const peakDbfs = Math.round(20 * Math.log10(PEAK) * 10) / 10
  const ref = (card: string) => `hw:CARD=${card},DEV=0`
  let house: House
  let cards: Cards
  let controller: Controller
  let agent: Agent
  let nodeId: string

  before(async () => {
    house = await House.open()
    cards = await Cards.lay(house.path('cards'))
    controller = await (await new Controller(house).start()).login()
    const { id, token } = await controller.enroll('cards')
    nodeId = id
    const env = { SVC_CONTROLLER_TOKEN: token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: id }
    // A program on a dead sound server says nothing and hangs.
    const impatient = { SVC_CAPTURE_STALLED_SECONDS: '2', SVC_HEARTBEAT_SECONDS: '1' }
    agent = new Agent(house, { ...env, ...cards.env, ...impatient }).start()
  })
  after(async () => {
    await house?.close()
    await cards?.close()
  })

  const heard = (card: keyof typeof CARDS, after = ''): Promise<MeterFrame> =>
    until(`a frame of ${card}`, async () => {
      const frame: MeterFrame = await controller.get(
        `/nodes/${nodeId}/meters?interfaceId=${encodeURIComponent(ref(card))}`,
      )
      return frame.capturedAt > after && frame.levels.some((level) => level.peakDbfs > -60) ? frame : undefined
    })

  /** Every channel carries its own tone of 100 n + 1 Hz: where it is heard shows in its crossings. */
  const assertTones = ({ levels, synthetic }: MeterFrame, channels: number) => {
    assert.equal(synthetic, undefined)
    assert.deepEqual(
      levels.map(({ channelIndex, peakDbfs }) => [channelIndex, peakDbfs]),
      upTo(channels).map((n) => [n, peakDbfs]),
    )
    for (const { channelIndex, quality } of levels) {
      const crossings = (2 * (100 * channelIndex + 1)) / RATE
      assert.ok(Math.abs(quality!.zeroCrossingRate - crossings) <= 0.006, `channel ${channelIndex}: ${crossings}`)
      assert.equal(quality!.channelCorrelation, undefined)
    }
  }
  const types = () =>
    agent
      .events()
      .map(({ type }) => type)
      .filter((type) => type.startsWith('agent.meter'))

  test('the first card is metered while nothing is recorded, the other one while a take needs it', async () => {
    assertTones(await heard('Desk'), CARDS.Desk)
    const node: Node = await controller.get(`/nodes/${nodeId}`)
    const stage = node.interfaces.find(({ systemRef }) => systemRef === ref('Stage'))!
    const more = { captureChannelSelection: upTo(32), captureInterfaceId: stage.id, channelMode: 'multichannel' }
    const { job, recording } = await controller.record(nodeId, await controller.plainProfile('wav'), 4, more)
    const frame = await heard('Stage')
    assert.equal(frame.interfaceId, stage.id)
    assertTones(frame, CARDS.Stage)
    await controller.delivered(recording.id, job.id)
    assertTones(await heard('Desk', frame.capturedAt), CARDS.Desk)
  })

  test('a card that is pulled gives no level, is told once, and is metered again when it is back', async () => {
    await cards.unplug()
    await until(
      'the loss',
      () => types().includes('agent.meter.device_unavailable') || types().includes('agent.meter.capture_failed'),
    )
    const lost = new Date().toISOString()
    await cards.plugIn()
    assertTones(await heard('Desk', lost), CARDS.Desk)
    await until('the recovery', () => types().includes('agent.meter.capture_recovered'))
    assert.ok(!types().some((type) => /flatline|low_signal|correlation|clipping/.test(type)), types().join())
    await agent.program.end('SIGTERM')
  })

  test('one frame for the person at the terminal', async () => {
    const program = house.start(['agent', '--print-meter-frame'], { cwd: house.path('printed'), env: cards.env })
    assert.deepEqual(await program.exited, [0, null], program.said())
    assertTones(JSON.parse(program.said()), CARDS.Desk)
  })
})
