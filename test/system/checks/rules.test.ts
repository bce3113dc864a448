// Thresholds of what any box is judged by, and the time a check has.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeClock, judgeSpace, judgeSync, judgeUnit } from '../../../src/system/checks/box.rules.ts'
import { examine, ok } from '../../../src/system/checks/examine.ts'
import { advice, command, DoctorReport, fitted } from '../../../src/wire/doctor.ts'

const MAKE_ROOM = advice('make room')

test('a disk warns below 15 % free and fails below 5 %; the fullest counts', () => {
  const disk = (usedPercent: number) => ({ dir: `/d${usedPercent}`, freeBytes: 2 ** 30, usedPercent })
  const status = (...used: number[]) => judgeSpace(used.map(disk), MAKE_ROOM).status
  assert.deepEqual([status(85), status(85.1), status(95), status(95.1)], ['ok', 'warn', 'warn', 'fail'])
  assert.deepEqual(judgeSpace([disk(10), disk(96)], MAKE_ROOM), {
    fix: MAKE_ROOM,
    message: '4 % free (1.0 GiB) at /d96',
    status: 'fail',
  })
  assert.equal(judgeSpace([], MAKE_ROOM).status, 'skipped')
})

test('a write that takes 50 ms is fine, over 500 ms is not; one slow write of five is chance', () => {
  const status = (...ms: number[]) => judgeSync(ms, '/d').status
  assert.deepEqual([status(50), status(51), status(500), status(501)], ['ok', 'warn', 'warn', 'fail'])
  assert.equal(status(1, 2, 900, 3, 2), 'ok')
})

test('a clock warns when nobody sets it, and fails beyond 30 s from the controller', () => {
  const status = (ahead: number | undefined, synced: boolean | undefined) => judgeClock({ ahead, synced }).status
  assert.deepEqual([status(30, true), status(-31, true), status(31, undefined)], ['ok', 'fail', 'fail'])
  assert.deepEqual([status(0, false), status(undefined, undefined), status(0, undefined)], ['warn', 'skipped', 'ok'])
  assert.match(judgeClock({ ahead: -31.2, synced: true }).message, /31 s behind/)
})

test('a unit is well when it runs and will be started', () => {
  const unit = (facts: object) => judgeUnit('x.service', { LoadState: 'loaded', ...facts }).status
  assert.equal(unit({ ActiveState: 'active', UnitFileState: 'enabled' }), 'ok')
  assert.equal(unit({ ActiveState: 'active', UnitFileState: 'disabled' }), 'warn')
  assert.equal(unit({ ActiveState: 'failed', SubState: 'failed' }), 'fail')
  assert.equal(unit({ ActiveState: 'activating', Result: 'exit-code', SubState: 'auto-restart' }), 'fail')
  assert.equal(unit({ ActiveState: 'inactive', LoadState: 'masked' }), 'fail')
  assert.equal(unit({ LoadState: 'not-found' }), 'skipped')
})

const well = () => ok('well')
const LIFECYCLE = {
  'controller.tls': well,
  'controller.token': well,
  'runner.token': well,
  'ssh.client': well,
  'vault.writable': well,
}

test('checks stand in their order; what throws or hangs is a finding of its own', async () => {
  const never = new Promise<never>(() => {})
  const denied = () => {
    throw Object.assign(new Error('EACCES: no'), { code: 'EACCES', path: '/x', syscall: 'open' })
  }
  const report = await examine('lifecycle', {
    ...LIFECYCLE,
    'controller.tls': { limitMs: 1, look: () => never },
    'runner.token': denied,
    'vault.writable': () => {
      throw new Error('no such thing')
    },
  })
  assert.deepEqual(
    report.checks.map(({ id, status }) => `${id} ${status}`),
    ['ssh.client ok', 'controller.tls warn', 'controller.token ok', 'runner.token skipped', 'vault.writable fail'],
  )
  assert.equal(report.ok, false)
  assert.ok(DoctorReport.safeParse(report).success)
})

test('a stop ends it', async () => {
  const stop = new AbortController()
  const report = examine('lifecycle', { ...LIFECYCLE, 'ssh.client': () => new Promise<never>(() => {}) }, stop.signal)
  stop.abort()
  await assert.rejects(report, { name: 'AbortError' })
})

test('what is quoted is cut to what the wire takes', () => {
  const { fix = '', message } = fitted({ fix: advice('f'.repeat(5000)), message: 'm'.repeat(5000), status: 'fail' })
  assert.deepEqual([fix.length, message.length], [1000, 600])
})

test('a fix keeps the line of its command on its way to the controller, and no other control character', () => {
  const fix = command('sudo \u001b[31mls\r\n\tdate')
  const checks = [{ fix, id: 'disk.space', message: 'full', status: 'fail' }]
  const { data } = DoctorReport.safeParse({ checks, ok: false, role: 'agent' })
  assert.equal(data?.checks[0]?.fix, 'sudo  [31mls \n date')
})
