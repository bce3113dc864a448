// Two boxes and a bucket, all of them real: box one is lost while it records, box two takes over, and hands back.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import type { UploadItem } from '../../src/wire/uploads.ts'
import { NO_LITESTREAM } from '../kit/litestream.ts'
import { freePort } from '../kit/prometheus.ts'
import { ACCESS_KEY, type S3Server, SECRET_KEY, s3Server } from '../kit/s3.ts'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { Box, sharedBy } from './boxes.ts'
import { readWav } from './sound.ts'

/** From the command to the first heartbeat that box two answers. */
const TAKEOVER_SECONDS = 30
/** Longer than all of a takeover on a busy machine: takes have to go on through it. */
const SECONDS = 60

describe('a second box takes over', { skip: NO_LITESTREAM }, () => {
  let house: House
  let s3: S3Server
  let one: Box
  let two: Box
  let agent: Agent
  let node = { id: '', token: '' }
  let profile = ''
  let policy = ''
  let device = ''
  let scheduleId = ''
  let earlier: { bytes: Buffer; id: string }

  /** A client of whichever box is the controller. */
  const client = async (box: Box): Promise<Controller> => new Controller(house).at(box.url).login()
  const record = async (controller: Controller, seconds: number) => {
    const more = { captureInterfaceId: device, uploadPolicyIds: [policy] }
    return controller.record(node.id, profile, seconds, more)
  }
  const ofSchedule = async (controller: Controller): Promise<Recording[]> =>
    (await controller.get('/recordings?limit=100')).filter((one: Recording) => one.scheduleId === scheduleId)
  const uploaded = (controller: Controller) =>
    until('the takes to be uploaded', async () => {
      await controller.post('/upload-runner/run')
      const items: UploadItem[] = await controller.get('/upload-queue?limit=50')
      return items.length > 0 && items.every(({ status }) => status === 'succeeded')
    })
  const heardBy = (controller: Controller, since: number) =>
    until('a heartbeat to be answered', async () => {
      const { lastSeenAt } = await controller.get(`/nodes/${node.id}`)
      return Date.parse(lastSeenAt) > since
    })

  before(async () => {
    house = await House.open()
    s3 = await s3Server({ keeps: true })
    const [first, second] = [await freePort(), await freePort()]
    const shared = sharedBy(s3)
    one = new Box(house, 'one', first, shared)
    two = new Box(house, 'two', second, shared)
    await one.run('controller')
    await two.run('standby')
    const controller = await client(one)
    node = await controller.enroll('Lectern')
    const destination = await controller.post('/settings/upload-destinations', {
      displayName: 'Archive',
      enabled: true,
      keepsLibrary: true,
      kind: 's3',
      s3: { accessKeyId: ACCESS_KEY, bucket: 'takes', endpoint: s3.endpoint, forcePathStyle: true, prefix: 'rooms' },
      s3SecretAccessKey: SECRET_KEY,
    })
    const upload = { destinationId: destination.id, name: 'Archive', trigger: 'on_recording_cached' }
    policy = (await controller.post('/settings/upload-policies', upload)).id
    profile = await controller.plainProfile('wav')
    agent = new Agent(house, {
      SVC_CONTROLLER_STANDBY_URL: two.url,
      SVC_CONTROLLER_TOKEN: node.token,
      SVC_CONTROLLER_URL: one.url,
      SVC_HEARTBEAT_SECONDS: '1',
      SVC_NODE_ID: node.id,
    }).start()
    device = (await controller.online(node.id)).id
    const { job, recording } = await record(controller, 3)
    await controller.delivered(recording.id, job.id)
    earlier = { bytes: await controller.file(recording.id), id: recording.id }
    await uploaded(controller)
  })
  after(async () => {
    await house?.close()
    await s3?.close()
  })

  test('a standby says how far behind it is, and nothing else; who asks for more is sent on', async () => {
    await two.caughtUp()
    const page = await (await fetch(two.url, { headers: { accept: 'text/html' } })).text()
    assert.match(page, /Standby, \d+ seconds behind, ready/)
    for (const secret of [SECRET_KEY, ACCESS_KEY, 'the-key-that-both']) assert.equal(page.includes(secret), false)
    const refused = await fetch(`${two.url}/api/v1/rooms`)
    const { reason, url } = (await refused.json()) as { reason: string; url: string }
    assert.deepEqual({ reason, status: refused.status, url }, { reason: 'standby', status: 503, url: one.url })
    assert.equal((await fetch(`${two.url}/healthz`)).status, 200)
    assert.equal((await fetch(`${two.url}/readyz`)).status, 503)
  })

  test('while the controller answers, nobody takes over from it unplanned by mistake', async () => {
    const { code, said } = await two.takeover('--unplanned')
    assert.notEqual(code, 0)
    assert.match(said, /answers at http.*let it hand over/)
    assert.equal((await two.status()).serving?.term, 1)
  })

  test('the plug of box one is pulled while it records: box two takes over within half a minute', async () => {
    const old = await client(one)
    const schedule = await old.post('/schedules', {
      captureInterfaceId: device,
      folderTemplate: 'lectures',
      name: 'Lecture',
      nodeId: node.id,
      recordingProfileId: profile,
      recurrence: {
        durationSeconds: SECONDS,
        mode: 'once',
        startsAt: new Date(Date.now() + 2000).toISOString(),
      },
      room: 'Hall',
      timezone: 'UTC',
      titleTemplate: 'Lecture',
      uploadPolicyIds: [policy],
    })
    scheduleId = schedule.id
    const recording = await until('the schedule to begin', async () => {
      const [first] = await ofSchedule(old)
      return first?.status === 'recording' ? first : undefined
    })
    await two.caughtUp()
    assert.equal((await ofSchedule(old))[0]?.status, 'recording', 'it goes on when the plug is pulled')
    await one.lose()
    const began = Date.now()
    const { code, said } = await two.takeover('--unplanned')
    assert.equal(code, 0, said + two.said())
    const controller = await client(two)
    await heardBy(controller, began)
    assert.ok(Date.now() - began < TAKEOVER_SECONDS * 1000, `${(Date.now() - began) / 1000} s`)

    const jobs: Job[] = await controller.get('/recording-jobs?limit=50')
    const job = jobs.find(({ recordingId }) => recordingId === recording.id)
    await controller.delivered(recording.id, job!.id, 120)
    assert.equal(secondsOf(await controller.file(recording.id)), SECONDS)
    assert.ok((await controller.file(earlier.id)).equals(earlier.bytes), 'a take from before plays, out of the bucket')
    assert.equal((await ofSchedule(controller)).length, 1)
  })

  test('box one comes back fenced, says who serves, and stays so', async () => {
    for (let round = 0; round < 2; round++) {
      await one.run('controller')
      const { role, serving } = await one.status()
      assert.deepEqual({ role, url: serving?.url }, { role: 'fenced', url: two.url })
      const refused = await fetch(`${one.url}/api/v1/auth/me`)
      assert.equal(refused.status, 503)
      assert.equal(((await refused.json()) as { reason: string }).reason, 'fenced')
      assert.equal((await fetch(one.url)).status, 503)
      await one.stop()
    }
  })

  test('box one follows, and gets the fleet back as planned while it records: nothing is lost', async () => {
    await one.run('standby')
    const old = await client(two)
    await one.caughtUp()
    const { job, recording } = await record(old, SECONDS)
    await agent.capturing(job.id)
    const names = Array.from({ length: 20 }, (_, i) => `Room ${i}`)
    for (const name of names) await old.post('/rooms', { name, site: 'House' })
    const began = Date.now()
    const { code, said } = await one.takeover()
    assert.equal(code, 0, said + one.said() + two.said())
    const controller = await client(one)
    const rooms: { name: string }[] = await controller.get('/rooms?limit=100')
    assert.deepEqual(new Set(names).difference(new Set(rooms.map(({ name }) => name))), new Set())
    await heardBy(controller, began)
    await controller.delivered(recording.id, job.id, 120)
    assert.equal(secondsOf(await controller.file(recording.id)), SECONDS)
    // It goes on as what it was started as.
    await until('box two to follow', async () => (await two.status()).ready, 150)
    assert.equal((await two.status()).serving?.term, 3)
    assert.equal((await ofSchedule(controller)).length, 1)
    assert.equal((await two.takeover('--force')).code, 2)
  })

  test('both stop cleanly, and take their parts up again', async () => {
    await two.stop()
    await one.stop()
    await one.run('standby')
    await one.serving()
    const [code] = await agent.program.end('SIGTERM')
    assert.equal(code, 0, agent.program.said())
    await one.stop()
  })
})

describe('a second box takes over by itself, where both say so', { skip: NO_LITESTREAM }, () => {
  let house: House
  let s3: S3Server
  let one: Box
  let two: Box

  before(async () => {
    house = await House.open()
    s3 = await s3Server({ keeps: true })
    const shared = { ...sharedBy(s3), SVC_STANDBY_TAKEOVER: 'automatic' }
    one = new Box(house, 'one', await freePort(), shared)
    two = new Box(house, 'two', await freePort(), shared)
    await one.run('controller')
    await two.run('standby')
  })
  after(async () => {
    await house?.close()
    await s3?.close()
  })

  test('a controller that only starts anew keeps the lease; one that is lost is replaced, and comes back fenced', async () => {
    await two.caughtUp()
    await one.stop()
    await one.run('controller')
    await one.serving()
    await two.caughtUp()
    assert.equal((await two.status()).serving?.term, 1)
    await one.lose()
    await two.serving(90)
    await one.run('controller')
    const { role, serving } = await one.status()
    assert.deepEqual({ role, term: serving?.term, url: serving?.url }, { role: 'fenced', term: 2, url: two.url })
    await one.stop()
    await two.stop()
  })
})

function secondsOf(file: Buffer): number {
  const { channels, data, rate } = readWav(file)
  return data.length / (2 * channels * rate)
}
