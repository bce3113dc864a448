import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createNotifier, type NotifierOptions } from '../../../src/system/host/notify.ts'
import { quiet, until } from '../../agent/jobs/kit.ts'
import { managed, manager } from './manager.ts'

const env = { LC_ALL: 'C', PATH: process.env.PATH ?? '' }
const notifier = (t: TestContext, options: Partial<NotifierOptions>) => {
  const made = createNotifier({
    alive: () => true,
    command: 'systemd-notify',
    env,
    log: quiet,
    manager: undefined,
    status: () => 'ready',
    ...options,
  })
  t.after(() => made.stop())
  return made
}

const flat = (got: string[][]) => got.flat().filter((word) => word !== 'BARRIER=1' && !word.startsWith('MAINPID'))

test('the manager hears of ready, of life and of the end, in this order', managed, async (t) => {
  const { got, socket } = await manager(t)
  let status = 'ready'
  const notify = notifier(t, { manager: { socket, watchdogMs: 100 }, status: () => status })
  await notify.ready()
  assert.deepEqual(flat(got), ['READY=1', 'WATCHDOG=1', 'STATUS=ready'])
  status = 'recording rec_1'
  await until(() => flat(got).includes('STATUS=recording rec_1'))
  await until(() => flat(got).filter((word) => word === 'WATCHDOG=1').length >= 4)
  await notify.stopping('finishing the takes')
  assert.equal(flat(got).filter((word) => word.startsWith('STATUS=')).length, 3)
  assert.deepEqual(flat(got).slice(-2), ['STOPPING=1', 'STATUS=finishing the takes'])
  await notify.stop()
  const count = got.length
  await new Promise((resolve) => setTimeout(resolve, 150))
  assert.equal(got.length, count)
})

test('where nothing moves no sign of life is given, and again where it does', managed, async (t) => {
  const { got, socket } = await manager(t)
  let [alive, asked] = [false, 0]
  const notify = notifier(t, {
    alive: () => {
      asked++
      return alive
    },
    manager: { socket, watchdogMs: 50 },
  })
  await notify.ready()
  const told = ['READY=1', 'WATCHDOG=1', 'STATUS=ready']
  await until(() => flat(got).length >= told.length)
  await until(() => asked >= 4)
  assert.deepEqual(flat(got), told)
  alive = true
  await until(() => flat(got).length > told.length)
  assert.deepEqual(flat(got).slice(told.length, told.length + 1), ['WATCHDOG=1'])
})

test('without a watchdog only what changes is told; without a manager nothing runs', managed, async (t) => {
  const { got, socket } = await manager(t)
  await notifier(t, { manager: { socket, watchdogMs: undefined } }).ready()
  assert.deepEqual(flat(got), ['READY=1', 'STATUS=ready'])
  const none = notifier(t, { command: '/nonexistent/would-fail-loudly', log: loud })
  await none.ready()
  await none.stopping('ending')
})

const loud = { ...quiet, warn: (message: string) => assert.fail(message) }

test('a manager that cannot be told does not stop the work', async (t) => {
  const warnings: string[] = []
  const log = { ...quiet, warn: (message: string) => void warnings.push(message) }
  await notifier(t, { command: '/nonexistent/notify', log, manager: { socket: '/x', watchdogMs: undefined } }).ready()
  await notifier(t, { command: 'false', log, manager: { socket: '/x', watchdogMs: undefined } }).ready()
  const words = 'could not report the service state to systemd, which may restart it'
  assert.deepEqual(warnings, [words, words])
})
