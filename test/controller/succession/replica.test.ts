import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import type { LeaseClient } from '../../../src/controller/succession/leaseclient.ts'
import { replicaFault } from '../../../src/controller/succession/replica.rules.ts'
import { ReplicaWatch } from '../../../src/controller/succession/replica.ts'
import { kit } from '../../kit/kit.ts'
import { scratchDir } from '../../kit/scratch.ts'

const MIB = 1024 * 1024
const MINUTE = 60_000
const BEGAN = Date.parse('2026-03-02T09:00:00.000Z')
const at = (ms: number): string => new Date(BEGAN + ms).toISOString()

test('that a replica stands still is told after three minutes, and long before the log is too long', () => {
  assert.equal(replicaFault({ copiedMs: 3 * MINUTE - 1, logBytes: 8 * MIB, storedMs: 3 * MINUTE - 1 }), undefined)
  assert.match(replicaFault({ copiedMs: 3 * MINUTE, logBytes: 0 }) ?? '', /not been replicated for 3 minutes/)
  assert.match(
    replicaFault({ logBytes: 0, storedMs: 5 * MINUTE }) ?? '',
    /Nothing has reached the replica's bucket for 5 minutes/,
  )
  assert.match(replicaFault({ logBytes: 256 * MIB }) ?? '', /write-ahead log is 256 MiB/)
  assert.match(
    replicaFault({ fault: { ms: 3 * MINUTE, why: 'Litestream is missing' }, logBytes: 0 }) ?? '',
    /^Litestream is missing/,
  )
  assert.equal(replicaFault({ fault: { ms: 1000, why: 'Litestream ended' }, logBytes: 0 }), undefined)
})

/** A database beside which Litestream has read so many bytes of the log, and a store that has some names. */
function world({ stored = true } = {}) {
  const database = path.join(scratchDir('roomtone-replica-'), 'roomtone.db')
  const meta = path.join(path.dirname(database), '.roomtone.db-litestream')
  const names: string[] = []
  let checkpoints = 0
  let ms = 0
  let ahead = 0
  const watch = new ReplicaWatch({
    checkpoint: async () => checkpoints++,
    clock: { monotonic: () => ms, now: () => BEGAN + ms + ahead },
    database,
    hasBehind: stored ? async (folder, name) => names.some((one) => one > folder + name) : undefined,
  })
  const read = (bytes: number, generation = 'aa', log = '00000000'): void => {
    fs.mkdirSync(path.join(meta, 'generations', generation, 'wal'), { recursive: true })
    fs.writeFileSync(path.join(meta, 'generation'), `${generation}\n`)
    fs.writeFileSync(path.join(meta, 'generations', generation, 'wal', `${log}.wal`), Buffer.alloc(bytes))
  }
  return {
    checkpoints: () => checkpoints,
    arrives: (name: string, generation = 'aa') => names.push(`generations/${generation}/wal/${name}.wal.lz4`),
    commit: (bytes: number) => fs.writeFileSync(`${database}-wal`, Buffer.alloc(bytes)),
    look: async (after = 30_000) => {
      ms += after
      await watch.look()
      return watch.until(at(ms))
    },
    log: `${database}-wal`,
    read,
    /** Sets the wall clock. */
    set: (by: number) => {
      ahead += by
    },
    watch,
  }
}

test('after the clock was set back nothing is said of the replica until it is known anew', async () => {
  const w = world()
  w.read(0x1000)
  await w.look(0)
  w.read(0x2000)
  await w.look()
  w.arrives('00000000_00002000')
  assert.equal(await w.look(), at(0))
  w.set(-400)
  assert.equal(w.watch.until(''), at(0), 'a clock that is being kept right')
  w.set(-3_600_000)
  assert.equal(w.watch.until(''), undefined)
  w.read(0x3000)
  await w.look()
  w.read(0x4000)
  w.arrives('00000000_00003000')
  assert.equal(await w.look(), undefined)
  w.arrives('00000000_00004000')
  assert.equal(await w.look(), at(90_000 - 3_600_400))
})

test('what was committed before a look is in the replica once something behind it has arrived', async () => {
  const w = world()
  assert.equal(await w.look(0), undefined, 'there is no replica yet')
  w.read(0x1000)
  assert.equal(await w.look(), undefined)
  w.arrives('00000000_00000000')
  assert.equal(await w.look(), undefined, 'that ends at 0x1000: what is behind it may be on its way')
  w.read(0x2000)
  w.arrives('00000000_00001000')
  assert.equal(await w.look(), at(0), 'it read 0x1000 after the first look')
  assert.equal(await w.look(), at(0))
  w.arrives('00000000_00002000')
  assert.equal(await w.look(), at(60_000), 'it read 0x2000 after the third')
  w.read(0x20, 'aa', '00000001')
  await w.look()
  w.arrives('00000001_00000020')
  assert.equal(await w.look(), at(150_000), 'a log that began anew comes after the one before')
})

test('a replica that begins anew has nothing until something of it arrived', async () => {
  const w = world()
  w.read(0x1000)
  await w.look()
  w.read(0x2000)
  await w.look()
  w.read(0x40, 'bb')
  w.arrives('00000009_00000000')
  assert.equal(await w.look(), undefined)
  w.arrives('00000000_00000040', 'bb')
  assert.equal(await w.look(), at(60_000))
})

test('a replicator that reads nothing is told while the log changes, and not while nothing is written', async () => {
  const w = world({ stored: false })
  w.read(0x1000)
  w.commit(0x1000)
  await w.look()
  await w.look(60 * MINUTE)
  assert.equal(w.watch.fault, undefined, 'nobody wrote')
  w.commit(0x2000)
  await w.look()
  await w.look(2 * MINUTE)
  assert.equal(w.watch.fault, undefined)
  await w.look(2 * MINUTE)
  assert.match(w.watch.fault ?? '', /The database has not been replicated/)
  w.read(0x2000)
  await w.look()
  assert.equal(w.watch.fault, undefined)
  assert.equal(w.watch.until('now'), 'now', 'whose store it is, is not known: the database counts')
})

test('a store where nothing arrives is told, and what cannot be seen is not judged', async () => {
  const w = world()
  for (let bytes = 0x1000; bytes < 0xa000; bytes += 0x1000) {
    w.read(bytes)
    w.commit(bytes)
    await w.look()
  }
  assert.match(w.watch.fault ?? '', /Nothing has reached the replica's bucket/)
  const other = world()
  other.commit(0x1000)
  await other.look(60 * MINUTE)
  assert.equal(other.watch.fault, undefined, 'another line of Litestream keeps its notes otherwise')
  other.watch.follow({ fault: 'Litestream could not be started' })
  await other.look()
  await other.look(3 * MINUTE)
  assert.match(other.watch.fault ?? '', /could not be started/)
})

test('people hear of it once, and that it is over', async () => {
  const replica = { fault: undefined as string | undefined, look: async () => {}, until: () => undefined }
  const lease = { silence: undefined, term: 1 } as LeaseClient
  const k = kit({ lease, replica: replica as unknown as ReplicaWatch })
  const standing = () =>
    k.rows("SELECT 1 FROM health_events WHERE type = 'watchdog.replica_stalled' AND status <> 'resolved'").length
  for (const [fault, told] of [
    [undefined, 0],
    ['it stands still', 1],
    ['it stands still', 1],
    [undefined, 0],
  ] as const) {
    replica.fault = fault
    await k.tick('replica-watch')
    assert.equal(standing(), told)
  }
  assert.equal(k.rows("SELECT 1 FROM health_events WHERE type = 'watchdog.replica_stalled'").length, 1)
  assert.deepEqual(
    k.trail().filter((row) => row.startsWith('health.')),
    ['health.watchdog.replica_stalled.created succeeded', 'health.watchdog.replica_stalled.resolved succeeded'],
  )
  await k.close()
})

test('a log that nobody checkpoints is checkpointed before a commit would have to', async () => {
  const w = world({ stored: false })
  w.commit(1)
  await w.look()
  assert.equal(w.checkpoints(), 0)
  // As long as that, and without the blocks.
  fs.truncateSync(w.log, 768 * MIB)
  await w.look()
  assert.equal(w.checkpoints(), 1)
  assert.match(w.watch.fault ?? '', /write-ahead log is 768 MiB/)
})
