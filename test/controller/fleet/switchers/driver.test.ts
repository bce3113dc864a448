import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { matrixDriver } from '../../../../src/controller/fleet/switchers/matrix.driver.ts'
import { restorable } from '../../../../src/controller/fleet/switchers/matrix.rules.ts'
import { type Matrix, matrix } from '../../../kit/matrix.ts'

// Long enough for a loaded machine where an answer comes, short where none does.
const PATIENT = { command: 5000, connect: 5000, long: 5000 }
const BRIEF = { command: 150, connect: 5000, long: 150 }

describe('the matrix driver', () => {
  let device: Matrix
  before(async () => {
    device = await matrix()
  })
  after(() => device.close())
  afterEach(() => {
    device.instead.clear()
    device.stubborn = false
    device.greeting = Buffer.alloc(0)
    device.commands = []
    device.routes.fill(0)
  })
  const driver = (deadlines = PATIENT, signal = new AbortController().signal) =>
    matrixDriver({ host: '127.0.0.1', port: device.port }, 24, signal, deadlines)
  const someRoutes = () => device.routes.map((_, output) => `OUT${output} AS IN0`).slice(1)

  test('all routes are read as soon as the last line is there', async () => {
    device.routes[3] = 7
    const routes = await driver().routes()
    assert.equal(routes.size, 24)
    assert.deepEqual([routes.get(3), routes.get(4)], [7, 0])
  })

  test('an empty, partial or broken answer is a failure, never a set of idle outputs', async () => {
    device.instead.set('GET OUT0', 'silence')
    await assert.rejects(driver(BRIEF).routes(), { message: 'switcher_routes_unanswered' })
    device.instead.set('GET OUT0', someRoutes().slice(0, 23))
    await assert.rejects(driver(BRIEF).routes(), { message: 'switcher_routes_incomplete' })
    device.instead.set('GET OUT0', 'close')
    await assert.rejects(driver().routes(), { message: 'switcher_connection_lost' })
    device.instead.set('GET OUT0', ['CMD ERR'])
    await assert.rejects(driver().routes(), { message: 'switcher_routes_rejected' })
    device.instead.set('GET OUT0', ['x'.repeat(2_000_000)])
    await assert.rejects(driver().routes(), { message: 'switcher_response_too_large' })
    device.instead.set('GET OUT0', Array(60_000).fill('a line of no meaning at all'))
    await assert.rejects(driver().routes(), { message: 'switcher_response_too_large' })
  })

  test('a route that was set is read back; a device that ignores it is found out', async () => {
    await driver().apply([{ from: 0, output: 2, to: 5 }])
    assert.equal(device.routes[2], 5)
    assert.deepEqual(device.commands, ['SET OUT2 AS IN5', 'GET OUT0 AS'])
    device.stubborn = true
    const set = driver().apply([{ from: 5, output: 2, to: 6 }])
    await assert.rejects(set, { message: 'switcher_confirm_route_mismatch' })
    device.instead.set('SET', ['CMD ERR'])
    await assert.rejects(driver().apply([{ from: 5, output: 2, to: 6 }]), { message: 'switcher_set_route_rejected' })
  })

  test('a test tells routes and firmware, or why there are none', async () => {
    const found = await driver().test()
    assert.deepEqual(found, { firmware: 'V1.23', model: 'avpro-ac-max', ok: true, reachable: true, routeCount: 24 })
    device.instead.set('GET OUT0', 'silence')
    const silent = await driver(BRIEF).test()
    assert.deepEqual([silent.ok, silent.reachable, silent.message], [false, true, 'no_routes_returned'])
    const nobody = await matrixDriver({ host: '127.0.0.1', port: 1 }, 24, new AbortController().signal).test()
    assert.deepEqual(
      [nobody.reachable, nobody.message],
      [
        false,
        'switcher_connect_failed: nothing listens at 127.0.0.1:1: check that the service is running and that the port is right',
      ],
    )
  })

  test('a snapshot is the whole configuration, however slowly it comes; a torn one is refused', async () => {
    const snapshot = await driver().snapshot()
    assert.equal(snapshot.split('\n').filter((line) => line.startsWith('SET OUT')).length, 24)
    device.instead.set('GET CONFIG', ['CONFIG'])
    await assert.rejects(driver().snapshot(), { message: 'switcher_snapshot_incomplete' })
    device.instead.set('GET CONFIG', 'silence')
    await assert.rejects(driver(BRIEF).snapshot(), { message: 'switcher_snapshot_unanswered' })
  })

  test('a restore replays what was set, without the network identity, and looks at the result', async () => {
    device.routes[1] = 9
    const snapshot = await driver().snapshot()
    device.routes.fill(0)
    device.commands = []
    await driver().restore(snapshot)
    assert.equal(device.routes[1], 9)
    assert.equal(
      device.commands.some((command) => /RIP|MAC/.test(command)),
      false,
    )
    device.stubborn = true
    device.routes.fill(0)
    await assert.rejects(driver().restore(snapshot), { message: 'switcher_confirm_route_mismatch' })
  })

  test('only plain SET lines are replayed', () => {
    const lines = [
      'SET OUT1 AS IN2',
      'set vol 3',
      'GET X',
      'SET RIP 1.2.3.4',
      'SET HIP1 x',
      'SET A\u0007B',
      'SET NMK x',
      'SET DHCP ON',
      'SET ADDR 1',
      'SET BAUDR 9',
      'SETUP',
    ]
    assert.deepEqual(restorable(lines.join('\r\n')), ['SET OUT1 AS IN2', 'set vol 3'])
  })

  test('telnet negotiation is refused and does not disturb the lines', async () => {
    device.greeting = Buffer.from([255, 251, 1, 255, 253, 3, ...Buffer.from('Welcome\r\n')])
    assert.equal((await driver().routes()).size, 24)
    assert.deepEqual(device.negotiated.flat(), [255, 254, 1, 255, 252, 3])
  })

  test('a conversation ends with the controller', async () => {
    device.instead.set('GET OUT0', 'silence')
    const ending = new AbortController()
    const asked = driver(PATIENT, ending.signal).routes()
    ending.abort()
    await assert.rejects(asked, { message: 'switcher_stopped' })
    await assert.rejects(driver(PATIENT, ending.signal).routes(), { message: 'switcher_stopped' })
  })
})
