// The deep engine inside the executable, and what the controller knows of it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { EMBEDDED_MODEL } from '../../src/agent/enhance/model.rules.ts'
import { Agent, Controller, House, until } from '../kit/whole.ts'

const DENOISER = { engine: 'deepfilternet3', model: EMBEDDED_MODEL.name, sha256: EMBEDDED_MODEL.sha256 }

describe('the deep denoiser', () => {
  let house: House
  let controller: Controller
  let nodeId: string

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house).start()).login()
    const node = await controller.enroll('deep')
    nodeId = node.id
    const env = { SVC_CONTROLLER_TOKEN: node.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: nodeId }
    new Agent(house, env).start()
    await controller.online(nodeId)
  })
  after(() => house.close())

  test('a node says which model it carries', async () => {
    await until('its runtime', async () => (await controller.get(`/nodes/${nodeId}`)).runtime?.denoiser)
    assert.deepEqual((await controller.get(`/nodes/${nodeId}`)).runtime.denoiser, DENOISER)
  })

  test('a recording says which model made its enhanced rendition', async () => {
    const profile = { codec: 'mp3', enhancement: { keepRaw: true }, name: 'Deep' }
    const { id } = await controller.post('/settings/recording-profiles', profile)
    const { recording } = await controller.record(nodeId, id, 2)
    const { renditions } = await until(
      'both renditions',
      async () => {
        const now = await controller.get(`/recordings/${recording.id}`)
        return now.enhancedCachePath && now.rawCachePath ? now : undefined
      },
      150,
    )
    assert.deepEqual(renditions.enhanced.denoiser, DENOISER)
    assert.equal(renditions.raw.denoiser, undefined)
  })
})
