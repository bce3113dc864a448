// The database in an object store that is not ours, by the replicator that sites use, with the settings they are given.
import assert from 'node:assert/strict'
import * as path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { logOf, NO_LITESTREAM } from '../kit/litestream.ts'
import { NO_SWIFT } from '../kit/swift.ts'
import { Controller, until } from '../kit/whole.ts'
import { beatOf, KEY, missing, type Replicated, replicated } from './replicated.ts'

/** Where Litestream begins to give the log back (its min-checkpoint-page-count), and SQLite by itself, pages and bytes. */
const CHECKPOINT = 1000 * 4120

describe('a controller with its replica', { skip: NO_LITESTREAM || NO_SWIFT }, () => {
  let r: Replicated
  before(async () => {
    r = await replicated()
  })
  after(() => r?.close())

  /** Everything that is acknowledged now is in what the store gives back, and nothing had to be copied as a whole again. */
  const replicatedWhole = async (name: string): Promise<void> => {
    const known = r.traffic.known()
    await r.litestream.caughtUp()
    const file = r.house.path(`${name}.db`)
    await r.litestream.restore(file)
    assert.deepEqual(missing(file, known), [])
    assert.ok(known.rooms.length > 0 && known.takes.length > 0 && known.beat > 0)
    assert.equal(await r.litestream.generations(), 1, r.litestream.said())
  }
  /** Once so many more rooms were made. */
  const made = async (more: number): Promise<void> => {
    const wanted = r.traffic.known().rooms.length + more
    await until(`${more} more rooms`, () => r.traffic.known().rooms.length >= wanted)
  }
  /** Once the log was given back and began anew. */
  const begunAnew = async (): Promise<void> => {
    const { salt } = logOf(r.database)
    await until('the log to begin anew', () => logOf(r.database).salt !== salt)
  }

  test('a replicator that was there before the database has everything, and gives the log back', async () => {
    r.traffic.begin()
    await begunAnew()
    await made(20)
    await replicatedWhole('first')
  })

  test('a controller that is stopped, killed and started again goes on in the same replica', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await r.controller.program.end(signal)
      await r.controller.start()
      await made(20)
    }
    await replicatedWhole('restarted')
  })

  test('while the replicator is away nobody takes the log from it: it goes on without a gap', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await r.litestream.end(signal)
      // More than SQLite would leave there by itself.
      await until('the log to grow', () => logOf(r.database).end > 2 * CHECKPOINT)
      await r.litestream.start()
      await begunAnew()
    }
    await replicatedWhole('away')
  })

  test('while the store is away everybody is answered, and the log does not grow; then everything is sent', async () => {
    const { target } = r.cable
    const said = r.litestream.said().length
    r.cable.target = 'http://127.0.0.1:1'
    r.cable.cut()
    await until('Litestream to say so', () => r.litestream.said().slice(said).split('"level":"ERROR"').length > 5)
    const known = r.traffic.known().rooms.length
    await begunAnew()
    await begunAnew()
    assert.ok(r.traffic.known().rooms.length > known)
    r.cable.target = target
    await replicatedWhole('cut')
  })

  test('both are killed at once: what the store has goes on, here as elsewhere', async () => {
    const known = r.traffic.known()
    await r.litestream.caughtUp()
    await Promise.all([r.controller.program.end('SIGKILL'), r.litestream.end('SIGKILL')])
    const file = r.house.path('killed.db')
    await r.litestream.restore(file)
    assert.deepEqual(missing(file, known), [])
    await r.litestream.start()
    await r.controller.start()
    await made(20)
    await replicatedWhole('again')
  })

  test('the box is lost: a fresh one goes on from the replica, and says which audio is not there', async (t) => {
    const known = r.traffic.known()
    await r.litestream.caughtUp()
    await Promise.all([r.controller.program.end('SIGKILL'), r.litestream.end('SIGKILL')])
    await r.traffic.end()
    const [replica, data] = [r.house.path('replica.db'), r.house.path('fresh')]
    await r.litestream.restore(replica)
    const verb = async (...args: string[]) => {
      const env = { SVC_DATA_DIR: data, ...KEY }
      const program = r.house.start(args, { cwd: r.house.dir, env })
      const [code] = await program.exited
      return { code, said: program.said() }
    }
    const restored = await verb('restore', replica)
    assert.equal(restored.code, 0, restored.said)
    assert.deepEqual(missing(path.join(data, 'roomtone.db'), known), [])
    const checked = await verb('check')
    assert.equal(checked.code, 1)
    for (const id of known.takes) assert.ok(checked.said.includes(id), checked.said)
    const fresh = await new Controller(r.house, { SVC_DATA_DIR: data, ...KEY }).start()
    const { checks } = JSON.parse((await verb('doctor', '--json')).said)
    const integrity = checks.find(({ id }: { id: string }) => id === 'database.integrity')
    assert.equal(integrity.status, 'ok', integrity.message)
    await fresh.login()
    const beat = await fresh.ask('POST', `/nodes/${r.node.id}/heartbeat`, beatOf(known.beat), r.node.token)
    assert.ok(beat.status < 300, JSON.stringify(beat.json))
    assert.equal((await fresh.ask('GET', `/recordings/${known.takes[0]}`)).status, 200)
    const later = r.traffic.known()
    t.diagnostic(`acknowledged after the replica's last moment: ${later.rooms.length - known.rooms.length} rooms`)
    await fresh.program.end('SIGTERM')
  })
})
