import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { leaseStore } from '../../../src/controller/succession/lease.s3.ts'
import { type S3Server, s3Server } from '../../kit/s3.ts'
import { box, pairAt, type TestBox, TTL_MS } from './world.ts'

let s3: S3Server
let away = false
const boxes: TestBox[] = []

before(async () => {
  s3 = await s3Server({
    interfere: (_, response) => {
      if (away) response.destroy()
      return away
    },
    keeps: true,
  })
})
after(() => s3.close())
beforeEach(() => {
  away = false
  s3.objects.clear()
})
afterEach(async () => {
  for (const one of boxes.splice(0)) await one.close()
})

async function boxed(name: string, automatic = false): Promise<TestBox> {
  const one = await box(s3, name, automatic)
  boxes.push(one)
  return one
}

async function again(one: TestBox): Promise<TestBox> {
  const next = await one.again()
  boxes.push(next)
  return next
}

/** A box that serves. */
async function holder(name: string, automatic = false) {
  const one = await boxed(name, automatic)
  assert.equal(await one.leaseClient.claim(true), 'ours')
  return { ...one, lost: one.leaseClient.hold() }
}

const always = () => true

test('a free lease is taken by one of two boxes that start at once, and by no standby', async () => {
  const [one, two, standby] = [await boxed('one'), await boxed('two'), await boxed('standby')]
  assert.equal(await standby.leaseClient.claim(false), 'free')
  const told = await Promise.all([one.leaseClient.claim(true), two.leaseClient.claim(true)])
  assert.equal(told.filter((standing) => standing === 'ours').length, 1)
  assert.equal(one.leaseClient.mayServe(), false)
  assert.equal(await standby.leaseClient.claim(false), 'others')
  assert.equal(standby.leaseClient.term, 1)
})

test('a box takes its lease up again after a restart, with the same term', async () => {
  const one = await holder('one')
  const next = await again(one)
  assert.equal(await next.leaseClient.claim(true), 'ours')
  assert.equal(next.leaseClient.term, 1)
})

test('whoever finds a higher term serves no longer, says so to no store, and stays so over restarts', async () => {
  const one = await holder('one')
  const two = await boxed('two')
  assert.equal(one.leaseClient.mayServe(), true)
  assert.equal(await two.leaseClient.claim(false), 'others')
  assert.equal(await two.leaseClient.takeOverIf(always), true)
  assert.equal(two.leaseClient.term, 2)
  await one.leaseClient.renew()
  assert.equal(await one.lost, 'fenced')
  assert.equal(one.leaseClient.mayServe(), false)
  away = true
  const later = await again(one)
  assert.equal(await later.leaseClient.claim(true), 'others')
  assert.equal(later.leaseClient.lease?.holder.name, 'two')
  assert.equal(later.leaseClient.term, 2)
  away = false
  // Until a person takes over again.
  const back = await again(one)
  assert.equal(await back.leaseClient.claim(false), 'others')
  assert.equal(await back.leaseClient.takeOverIf(always), true)
  assert.equal(back.leaseClient.term, 3)
  assert.equal(back.leaseFile.now.fencedBy, undefined)
})

test('a takeover that was judged by a lease that was renewed since takes nothing', async () => {
  const one = await holder('one')
  const two = await boxed('two')
  await two.leaseClient.claim(false)
  one.pass(TTL_MS / 3)
  await one.leaseClient.renew()
  const judged = two.leaseClient.lease?.renewedAt
  assert.equal(await two.leaseClient.takeOverIf((lease) => lease.renewedAt === judged), false)
  assert.equal(one.leaseClient.mayServe(), true)
  assert.equal(await two.leaseClient.takeOverIf(always), true)
})

test('while the store is away a controller goes on, for a person decides about a takeover', async () => {
  const one = await holder('one')
  away = true
  one.pass(100 * TTL_MS)
  await one.leaseClient.renew()
  assert.equal(one.leaseClient.mayServe(), true)
  assert.match(one.leaseClient.silence?.why ?? '', /SVC_LEASE_URL/)
  // Somebody may have taken over while it was off: it asks for as long as a lease lasts.
  const restarted = await again(one)
  assert.equal(await restarted.leaseClient.claim(true), 'unreachable')
  restarted.pass(TTL_MS)
  assert.equal(await restarted.leaseClient.claim(true), 'ours')
  assert.equal(await (await boxed('new')).leaseClient.claim(true), 'unreachable')
  away = false
  await one.leaseClient.renew()
  assert.equal(one.leaseClient.silence, undefined)
})

test('where a standby may take over by itself, a holder stops before that, whatever the wall clock does', async () => {
  const one = await holder('one', true)
  const two = await boxed('two', true)
  assert.equal(await two.leaseClient.claim(false), 'others')
  for (const hours of [+26, -50]) {
    one.jump(hours * 3_600_000)
    two.jump(-hours * 3_600_000)
    assert.equal(one.leaseClient.mayServe(), true)
    assert.equal(two.leaseClient.hasRunOut(), false)
  }
  away = true
  // Just before and just after the moments that count.
  const steps: [ms: number, serves: boolean, mayTake: boolean][] = [
    [TTL_MS * 0.89, true, false],
    [TTL_MS * 0.02, false, false],
    [TTL_MS * 0.08, false, false],
  ]
  for (const [ms, serves, mayTake] of steps) {
    for (const each of [one, two]) each.pass(ms)
    assert.equal(one.leaseClient.mayServe(), serves)
    assert.equal(two.leaseClient.hasRunOut(), mayTake)
  }
  await one.leaseClient.renew()
  assert.equal(await one.lost, 'lapsed')
  away = false
  for (const each of [one, two]) each.pass(TTL_MS * 0.02)
  assert.equal(await two.leaseClient.claim(false), 'others')
  assert.equal(two.leaseClient.hasRunOut(), true)
  assert.equal(one.leaseClient.mayServe(), false)
  // It was only away: it serves again, and the other one has to wait again.
  assert.equal(await one.leaseClient.claim(true), 'ours')
  await two.leaseClient.claim(false)
  assert.equal(two.leaseClient.hasRunOut(), false)
  assert.equal(await two.leaseClient.takeOverIf(always), true)
})

test('a holder that did not allow it is never taken from by the clock', async () => {
  await holder('one')
  const two = await boxed('two', true)
  await two.leaseClient.claim(false)
  two.pass(1000 * TTL_MS)
  assert.equal(two.leaseClient.hasRunOut(), false)
})

test('a hand-over is asked for, prepared, and taken', async () => {
  const one = await holder('one')
  const two = await boxed('two')
  await two.leaseClient.claim(false)
  assert.equal(await two.leaseClient.ask(), true)
  await one.leaseClient.renew()
  assert.equal(await one.lost, 'asked')
  assert.equal(one.leaseClient.mayServe(), false)
  assert.equal(await one.leaseClient.prepare('the-last-write'), true)
  assert.equal(await one.leaseClient.claim(true), 'prepared')
  assert.equal(await two.leaseClient.claim(false), 'others')
  assert.deepEqual(two.leaseClient.lease?.handover, {
    mark: 'the-last-write',
    state: 'ready',
    to: two.leaseClient.self,
  })
  assert.equal(await two.leaseClient.takeOverIf(always), true)
  assert.equal(await one.leaseClient.claim(true), 'others')
})

test('a hand-over that is taken back leaves the lease where it was', async () => {
  const one = await holder('one')
  const two = await boxed('two')
  await two.leaseClient.claim(false)
  await two.leaseClient.ask()
  await one.leaseClient.renew()
  await one.leaseClient.prepare('mark')
  await two.leaseClient.claim(false)
  assert.equal(await two.leaseClient.withdraw(), true)
  assert.equal(await one.leaseClient.claim(true), 'ours')
  assert.equal(one.leaseClient.term, 1)
})

test('a box that cannot write down that it is fenced is fenced all the same, and takes nothing back', async () => {
  const one = await holder('one')
  const two = await boxed('two')
  await two.leaseClient.claim(false)
  assert.equal(await two.leaseClient.takeOverIf(always), true)
  one.leaseFile.save = () => Promise.reject(new Error('ENOSPC'))
  for (let i = 0; i < 3; i++) await one.leaseClient.renew()
  assert.equal(one.leaseClient.mayServe(), false)
  assert.equal(await one.leaseClient.claim(true), 'others')
  await two.leaseClient.claim(false)
  assert.deepEqual([two.leaseClient.lease?.holder.name, two.leaseClient.lease?.term], ['two', 2])
})

test('a term that nobody can have reached is not taken over by the holder: it writes its own again', async () => {
  const one = await holder('one')
  const [[key = '', object] = []] = [...s3.objects]
  const lease = JSON.parse(object?.body?.toString() ?? '')
  const body = Buffer.from(JSON.stringify({ ...lease, term: 900_000 }))
  s3.objects.set(key, { ...object!, body, etag: '"forged"' } as never)
  await one.leaseClient.renew()
  assert.deepEqual([one.leaseClient.mayServe(), one.leaseClient.lease?.term, one.leaseFile.now.term], [true, 1, 1])
})

test('a fenced box does not take a lease that was removed by hand', async () => {
  const one = await holder('one')
  const two = await boxed('two')
  await two.leaseClient.claim(false)
  await two.leaseClient.takeOverIf(always)
  void two.leaseClient.hold()
  await one.leaseClient.renew()
  s3.objects.clear()
  assert.equal(await (await again(one)).leaseClient.claim(true), 'others')
  await two.leaseClient.renew()
  assert.deepEqual([two.leaseClient.mayServe(), two.leaseClient.lease?.term], [true, 2])
})

test('a lease that was removed by hand is put back with its term', async () => {
  const one = await holder('one')
  const two = await boxed('two')
  await two.leaseClient.claim(false)
  await two.leaseClient.takeOverIf(always)
  void two.leaseClient.hold()
  s3.objects.clear()
  await two.leaseClient.renew()
  assert.equal(two.leaseClient.mayServe(), true)
  assert.equal(two.leaseClient.lease?.term, 2)
  await one.leaseClient.renew()
  assert.equal(await one.lost, 'fenced')
})

test('an answer that got lost on the way back costs nothing', async () => {
  const one = await holder('one')
  // Renewed by its own hand, without hearing of it.
  const store = await leaseStore(pairAt(s3), 3000)
  const seen = await store.read()
  await store.write({ ...seen!.lease, renewedAt: '2026-03-02T09:00:20.000Z' }, seen)
  store.close()
  await one.leaseClient.renew()
  assert.equal(one.leaseClient.mayServe(), true)
  assert.equal(one.leaseClient.term, 1)
})

test('a store that ignores conditions is refused, and neither key is told', async () => {
  const simple = await s3Server({ ignoresConditions: true, keeps: true })
  const one = await box(simple, 'one')
  const claimed = one.leaseClient.claim(true)
  await claimed.catch(() => undefined)
  await one.close()
  await simple.close()
  await assert.rejects(claimed, /does not know conditional writes/)
  const wrong = await leaseStore({ ...pairAt(s3), secretAccessKey: 'not-the-secret-at-all' }, 3000)
  await assert.rejects(wrong.read(), (e: Error) => /403/.test(e.message) && !e.message.includes('not-the-secret'))
  wrong.close()
})
