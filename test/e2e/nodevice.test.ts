// A machine without a sound card, from the agent to the controller: nothing is invented, and what is named works.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Node } from '../../src/wire/nodes.ts'
import { Controller, House, until } from '../kit/whole.ts'

describe('a machine without a sound card', () => {
  let house: House
  let controller: Controller

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house).start()).login()
  })
  after(() => house.close())

  const recorder = async (name: string, env: Record<string, string>) => {
    const { id, token } = await controller.enroll(name)
    const joined = { SVC_CONTROLLER_TOKEN: token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: id }
    const cards = house.path(`${name}-cards`)
    const cwd = house.path(name)
    house.start(['agent'], { cwd, env: { ...joined, SVC_AGENT_DIR: cwd, SVC_ALSA_PROC_ROOT: cards, ...env } })
    const node = (): Promise<Node> => controller.get(`/nodes/${id}`)
    await until('the node to be online', async () => (await node()).status === 'online')
    return { cards, id, node }
  }

  test('records nothing and says why, until a card arrives', async () => {
    const { cards, id, node } = await recorder('bare', {})
    const { interfaces, problems } = await node()
    assert.deepEqual(interfaces, [])
    assert.deepEqual(problems, [{ code: 'no_capture_device', message: 'no capture device' }])
    const start = await controller.ask('POST', '/recordings', { durationSeconds: 1, nodeId: id })
    assert.deepEqual([start.status, start.json.reason], [409, 'no_capture_device'])
    const events = () => controller.get(`/health-events?nodeId=${id}&type=agent.audio_backend.unavailable`)
    assert.deepEqual(
      (await events()).map((event: { status: string }) => event.status),
      ['open'],
    )
    fs.mkdirSync(`${cards}/card0`, { recursive: true })
    fs.writeFileSync(`${cards}/card0/id`, 'Desk\n')
    fs.writeFileSync(`${cards}/card0/stream0`, 'Desk\n\nCapture:\n  Channels: 2\n  Rates: 48000\n')
    fs.writeFileSync(`${cards}/pcm`, '00-00: Desk : Desk : capture 1\n')
    await until('the card', async () => (await node()).problems === undefined)
    assert.equal((await node()).interfaces[0]?.systemRef, 'hw:CARD=Desk,DEV=0')
    assert.deepEqual(
      (await events()).map((event: { status: string }) => event.status),
      ['resolved'],
    )
  })

  test('a program of the operator records all the same', async () => {
    const template = '-v error -re -f lavfi -i sine=440:r={sample_rate} -ac {channels} -f s16le {output}'
    const env = { SVC_CAPTURE_ARGS_TEMPLATE: template, SVC_CAPTURE_COMMAND: 'ffmpeg' }
    const { id, node } = await recorder('own', env)
    const { interfaces, problems } = await node()
    assert.deepEqual([interfaces.map((i) => i.systemRef), problems], [['default'], undefined])
    const profile = await controller.plainProfile('wav')
    const { job, recording } = await controller.record(id, profile, 2)
    const { durationSeconds } = await controller.delivered(recording.id, job.id)
    assert.equal(durationSeconds, 2)
  })
})
