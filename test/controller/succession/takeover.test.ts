import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Copy, Follower } from '../../../src/controller/succession/follower.ts'
import { type TakeoverRequest, takeOver } from '../../../src/controller/succession/takeover.ts'
import { UserError } from '../../../src/kernel/fail.ts'
import { type S3Server, s3Server } from '../../kit/s3.ts'
import { scratchDir } from '../../kit/scratch.ts'
import { box, type TestBox, TTL_MS } from './world.ts'

const s3: S3Server = await s3Server({ keeps: true })
let open: TestBox[] = []
after(() => s3.close())
beforeEach(async () => {
  for (const one of open.splice(0)) await one.close()
  s3.objects.clear()
})
after(async () => {
  for (const one of open.splice(0)) await one.close()
})

const UNPLANNED: TakeoverRequest = { force: false, planned: false }

/** Box one is the controller, box two looks on; `meanwhile` happens while box two fetches its copy. */
async function pair({
  recordingsWithoutRemoteCopy = 0,
  automatic = true,
  keyFault = undefined as string | undefined,
  meanwhile = async () => {},
  pulse = {},
}) {
  const [one, two] = [await box(s3, 'one', automatic), await box(s3, 'two', automatic)]
  open = [one, two]
  assert.equal(await one.leaseClient.claim(true), 'ours')
  const lost = one.leaseClient.hold()
  assert.equal(await two.leaseClient.claim(false), 'others')
  const dir = scratchDir('roomtone-takeover-')
  const file = path.join(dir, 'copy')
  fs.writeFileSync(file, 'the copy')
  fs.writeFileSync(path.join(dir, 'roomtone.db'), 'what was here')
  const copy = (): Copy =>
    ({ recordingsWithoutRemoteCopy, file, pulse: { term: 1, writtenAt: '2026-03-02T09:00:00.000Z', ...pulse } }) as Copy
  const follower = {
    copy: keyFault === undefined ? copy() : undefined,
    follow: async () => {
      await meanwhile()
      if (keyFault !== undefined) throw new UserError(keyFault)
      return copy()
    },
  } as unknown as Follower
  const said: string[] = []
  const over = (request: TakeoverRequest) =>
    takeOver(
      { dir, follower, now: () => 0, leaseClient: two.leaseClient, ttlMs: TTL_MS },
      request,
      (text) => void said.push(text),
    )
  const files = () => fs.readdirSync(dir).filter((name) => name.startsWith('roomtone.db'))
  return { database: () => fs.readFileSync(path.join(dir, 'roomtone.db'), 'utf8'), files, lost, one, over, said, two }
}

test('whoever renews the lease while a copy is fetched keeps it, and nothing is left on the disk', async () => {
  const world = await pair({ meanwhile: async () => void (await renews()) })
  const renews = async () => {
    world.one.pass(1)
    await world.one.leaseClient.renew()
  }
  for (let i = 0; i < 3; i++)
    await assert.rejects(world.over(UNPLANNED), /has renewed the lease, so it is still running/)
  assert.equal(world.one.leaseClient.mayServe(), true)
  assert.deepEqual([world.files(), world.database()], [['roomtone.db'], 'what was here'])
  // A person may insist.
  await world.over({ force: true, planned: false })
  assert.deepEqual([world.two.leaseClient.term, world.database()], [2, 'the copy'])
  assert.equal(world.files().length, 2)
})

test('what is at no destination is told of, without saying that it is not here', async () => {
  const world = await pair({ recordingsWithoutRemoteCopy: 1 })
  await world.over({ force: true, planned: false })
  const [told] = world.said.filter((line) => line.startsWith('1 recording has no copy in a library destination. '))
  assert.match(told ?? '', /What is not on this disk yet .* copied from one or uploaded\.$/)
})

test('a hand-over that the controller took back takes nothing, however the copy ends', async () => {
  const world = await pair({
    automatic: false,
    meanwhile: async () => {
      await world.one.leaseClient.withdraw()
      assert.equal(await world.one.leaseClient.claim(true), 'ours')
      void world.one.leaseClient.hold()
    },
    pulse: { mark: 'last' },
  })
  const refused = assert.rejects(world.over({ force: false, planned: true }), /Nothing was taken over/)
  while (world.one.leaseClient.mayServe()) {
    await sleep(20)
    await world.one.leaseClient.renew()
  }
  assert.equal(await world.lost, 'asked')
  await world.one.leaseClient.stopRenewing()
  assert.equal(await world.one.leaseClient.prepare('last'), true)
  await refused
  await world.one.leaseClient.renew()
  assert.deepEqual([world.one.leaseClient.mayServe(), world.one.leaseClient.term], [true, 1])
  assert.equal(world.database(), 'what was here')
})

test('a box without the key of the controller takes nothing, and the controller is not stopped for it', async () => {
  const world = await pair({ keyFault: 'The secret key of this box does not open it' })
  for (const planned of [true, false])
    await assert.rejects(
      world.over({ force: true, planned }),
      /^Error: Nothing was taken over: this box has no usable copy of the database\. The secret key of this box/,
    )
  assert.equal(world.one.leaseClient.lease?.handover, undefined)
  await world.one.leaseClient.renew()
  assert.deepEqual([world.one.leaseClient.mayServe(), world.one.leaseClient.term], [true, 1])
  assert.deepEqual([world.files(), world.database()], [['roomtone.db'], 'what was here'])
})

test('a replica that ends long before the last sign of the controller is not taken for the whole', async () => {
  const world = await pair({ pulse: { writtenAt: '2026-03-02T08:00:00.000Z' } })
  await assert.rejects(world.over(UNPLANNED), /ends 3600 seconds before the last sign of one/)
  assert.equal(world.one.leaseClient.mayServe(), true)
  await world.over({ force: true, planned: false })
  assert.equal(world.two.leaseClient.term, 2)
})
