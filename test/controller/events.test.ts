import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Events } from '../../src/controller/events.ts'
import { Db } from '../../src/controller/store/db.ts'
import { CommitGroup } from '../../src/controller/store/group.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { kit } from '../kit/kit.ts'
import { chunked, counted, wav } from './recordings/chunks/world.ts'

function world() {
  const db = new Db(':memory:')
  db.raw.exec('CREATE TABLE t (n INTEGER) STRICT')
  const logged: string[] = []
  const log = { debug() {}, error: (message: string) => void logged.push(message), info() {}, warn() {} }
  const add = db.stmt<{ n: number }>('INSERT INTO t VALUES (@n)')
  const events = new Events(db, log)
  return { add, count: () => db.raw.prepare('SELECT count(*) FROM t').pluck().get(), db, events, logged }
}

test('a listener within shares the fate of the transaction, one after hears of what was committed', () => {
  const { add, count, db, events } = world()
  const heard: string[] = []
  events.on('job.progressed', 'within', ({ id }) => {
    add.run({ n: 2 })
    heard.push(`within ${id} ${count()}`)
  })
  events.on('job.progressed', 'after', ({ id }) => heard.push(`after ${id} ${db.raw.inTransaction} ${count()}`))
  db.tx(() => {
    add.run({ n: 1 })
    events.emit('job.progressed', { id: 'r1' })
    heard.push('emitted')
  })
  assert.deepEqual(heard, ['within r1 2', 'emitted', 'after r1 false 2'])
})

test('what is undone is never heard of, whole or in part', () => {
  const { add, count, db, events } = world()
  const heard: string[] = []
  events.on('job.progressed', 'after', ({ id }) => heard.push(id))
  const failing = (id: string) => () => {
    events.emit('job.progressed', { id })
    throw new Error('no')
  }
  assert.throws(() => db.tx(failing('whole')), /no/)
  db.tx(() => {
    events.emit('job.progressed', { id: 'before' })
    assert.throws(() => db.tx(failing('part')), /no/)
    events.emit('job.progressed', { id: 'behind' })
  })
  assert.deepEqual(heard, ['before', 'behind'])
  events.on('job.progressed', 'within', () => {
    throw new Error('refused')
  })
  const write = () => {
    add.run({ n: 1 })
    events.emit('job.progressed', { id: 'refused' })
  }
  assert.throws(() => db.tx(write), /refused/)
  assert.deepEqual([heard.length, count()], [2, 0])
})

test('a listener that throws after the commit is logged and keeps nobody from hearing', () => {
  const { db, events, logged } = world()
  const heard: string[] = []
  events.on('job.progressed', 'after', () => {
    throw new Error('broken')
  })
  events.on('job.progressed', 'after', ({ id }) => heard.push(id))
  db.tx(() => events.emit('job.progressed', { id: 'r1' }))
  events.emit('job.progressed', { id: 'r2' })
  assert.deepEqual(heard, ['r1', 'r2'])
  const words = 'internal error: something failed after a commit; the change itself is stored. Please report this'
  assert.deepEqual(logged, [words, words])
})

test('a listener may write, and emit, after the commit', () => {
  const { add, count, db, events } = world()
  const heard: string[] = []
  events.on('job.progressed', 'after', ({ id }) => {
    db.tx(() => {
      add.run({ n: 1 })
      events.emit('recording.join_ended', { id })
    })
  })
  events.on('recording.join_ended', 'after', ({ id }) => heard.push(id))
  db.tx(() => events.emit('job.progressed', { id: 'r1' }))
  assert.deepEqual([heard, count()], [['r1'], 1])
})

test('a take is heard of from its start to its end, and so is what people change', async () => {
  const k = kit()
  const heard: string[] = []
  k.events.on('job.changed', 'after', ({ status }) => heard.push(`job ${status}`))
  k.events.on('recording.cached', 'after', ({ piece }) => heard.push(`cached ${piece ?? 'whole'}`))
  k.events.on('resource.changed', 'after', ({ op, type }) => op === 'deleted' && heard.push(`${type} deleted`))
  k.events.on('health.opened', 'after', ({ severity, type }) => heard.push(`${severity} ${type}`))
  k.events.on('health.changed', 'after', ({ status }) => heard.push(`health ${status}`))
  const t = await chunked(k)
  assert.equal((await t.agent.put(t.path, wav(counted(0, 2000)), t.headers)).status, 201)
  assert.deepEqual(heard.splice(0), ['job queued', 'job running', 'job completed', 'cached whole'])
  const admin = k.as('admin')
  const opened = await t.agent.post(`/nodes/${t.id}/health-events`, {
    details: {},
    severity: 'warning',
    type: 'node.disk_low',
  })
  await admin.post(`/health-events/${opened.json.data.id}/acknowledge`, {})
  await admin.delete(`/recordings/${t.recordingId}`)
  assert.deepEqual(heard, ['warning node.disk_low', 'health acknowledged', 'recording deleted'])
  await k.close()
})

test('every change that leaves an audit row is heard of, refusals and undone writes are not', async () => {
  const k = kit()
  const heard: string[] = []
  k.events.on('resource.changed', 'after', ({ action, id, type }) => heard.push(`${action} ${type} ${id}`))
  const room = { id: 'hall', name: 'Hall', site: 'North' }
  await k.as('admin').post('/rooms', room)
  await k.as('viewer').post('/rooms', { ...room, id: 'other' })
  await k.as('admin').post('/rooms', { name: '' })
  await k.as('admin').get('/rooms')
  const made = 'rooms.create.succeeded room hall'
  assert.deepEqual(heard, [made, 'rooms.create.failed room_collection undefined'])
  await k.close()
})

test('an alert that ends by itself is heard of', async () => {
  const k = kit()
  const t = await chunked(k)
  const heard: string[] = []
  k.events.on('health.opened', 'after', ({ type }) => heard.push(type))
  k.events.on('health.changed', 'after', ({ status, type }) => heard.push(`${type} ${status}`))
  k.advance('1h')
  await k.tick('job-lease')
  assert.equal((await t.agent.put(t.path, wav(counted(0, 2000)), t.headers)).status, 201)
  const type = 'controller.recording.job_failed'
  assert.deepEqual(heard, [type, `${type} resolved`])
  await k.close()
})

test('what fails after a commit is logged, and fails nobody whose write was committed', async () => {
  const { add, count, db, events, logged } = world()
  const group = new CommitGroup(db, systemClock)
  const heard: string[] = []
  const write = (n: number) =>
    group.submit(() => {
      add.run({ n })
      events.afterCommit(() => {
        if (n === 1) throw new Error('broken')
        heard.push(`after ${n}`)
      })
      return n
    })
  assert.deepEqual(await Promise.all([write(1), write(2)]), [1, 2])
  assert.deepEqual([heard, count(), logged.length], [['after 2'], 2, 1])
})
