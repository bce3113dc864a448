import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Events } from '../../src/controller/events.ts'
import { Db } from '../../src/controller/store/db.ts'

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
  events.on('recording.deleted', 'within', ({ id }) => {
    add.run({ n: 2 })
    heard.push(`within ${id} ${count()}`)
  })
  events.on('recording.deleted', 'after', ({ id }) => heard.push(`after ${id} ${db.raw.inTransaction} ${count()}`))
  db.tx(() => {
    add.run({ n: 1 })
    events.emit('recording.deleted', { id: 'r1' })
    heard.push('emitted')
  })
  assert.deepEqual(heard, ['within r1 2', 'emitted', 'after r1 false 2'])
})

test('what is undone is never heard of, whole or in part', () => {
  const { add, count, db, events } = world()
  const heard: string[] = []
  events.on('recording.deleted', 'after', ({ id }) => heard.push(id))
  const failing = (id: string) => () => {
    events.emit('recording.deleted', { id })
    throw new Error('no')
  }
  assert.throws(() => db.tx(failing('whole')), /no/)
  db.tx(() => {
    events.emit('recording.deleted', { id: 'before' })
    assert.throws(() => db.tx(failing('part')), /no/)
    events.emit('recording.deleted', { id: 'behind' })
  })
  assert.deepEqual(heard, ['before', 'behind'])
  events.on('recording.deleted', 'within', () => {
    throw new Error('refused')
  })
  const write = () => {
    add.run({ n: 1 })
    events.emit('recording.deleted', { id: 'refused' })
  }
  assert.throws(() => db.tx(write), /refused/)
  assert.deepEqual([heard.length, count()], [2, 0])
})

test('a listener that throws after the commit is logged and keeps nobody from hearing', () => {
  const { db, events, logged } = world()
  const heard: string[] = []
  events.on('recording.deleted', 'after', () => {
    throw new Error('broken')
  })
  events.on('recording.deleted', 'after', ({ id }) => heard.push(id))
  db.tx(() => events.emit('recording.deleted', { id: 'r1' }))
  events.emit('recording.deleted', { id: 'r2' })
  assert.deepEqual(heard, ['r1', 'r2'])
  assert.deepEqual(logged, ['event listener failed', 'event listener failed'])
})

test('a listener may write, and emit, after the commit', () => {
  const { add, count, db, events } = world()
  const heard: string[] = []
  events.on('recording.deleted', 'after', ({ id }) => {
    db.tx(() => {
      add.run({ n: 1 })
      events.emit('recording.joined', { id })
    })
  })
  events.on('recording.joined', 'after', ({ id }) => heard.push(id))
  db.tx(() => events.emit('recording.deleted', { id: 'r1' }))
  assert.deepEqual([heard, count()], [['r1'], 1])
})
