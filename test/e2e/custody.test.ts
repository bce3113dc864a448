// Takes that box one has acknowledged, and nobody else: box one is gone for good, and its recorder has them still.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Job, Recording } from '../../src/wire/recordings.ts'
import type { UploadItem } from '../../src/wire/uploads.ts'
import { NO_LITESTREAM } from '../kit/litestream.ts'
import { freePort } from '../kit/prometheus.ts'
import { ACCESS_KEY, type S3Server, SECRET_KEY, s3Server } from '../kit/s3.ts'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { Box, sharedBy } from './boxes.ts'

/** Longer than box two needs to follow on a busy machine. */
const KNOWN_SECONDS = 45

interface Take {
  bytes: Buffer
  id: string
  jobId: string
}

describe('a recorder keeps what only the lost box had', { skip: NO_LITESTREAM }, () => {
  let house: House
  let s3: S3Server
  let one: Box
  let two: Box
  let agent: Agent
  let node = { id: '', token: '' }
  let profile = ''
  let policy = ''
  let device = ''
  let takes: Take[] = []

  const client = async (box: Box): Promise<Controller> => new Controller(house).at(box.url).login()
  const begin = async (controller: Controller, seconds: number) =>
    controller.record(node.id, profile, seconds, { captureInterfaceId: device, uploadPolicyIds: [policy] })
  const kept = (): string[] => fs.readdirSync(`${agent.dir}/cache`).sort()

  before(async () => {
    house = await House.open()
    s3 = await s3Server({ keeps: true })
    // Uploads begin when the test says so.
    const custody = { SVC_CUSTODY: 'replicated', SVC_UPLOAD_RUNNER_INTERVAL_SECONDS: '3600' }
    const shared = { ...sharedBy(s3), ...custody }
    one = new Box(house, 'one', await freePort(), shared)
    two = new Box(house, 'two', await freePort(), shared)
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
  })
  after(async () => {
    await house?.close()
    await s3?.close()
  })

  test('a standby with another key is not ready, and says why', async () => {
    const stranger = new Box(house, 'stranger', await freePort(), {
      ...sharedBy(s3),
      SVC_SECRET_KEY: 'the-key-of-some-other-house',
    })
    await stranger.run('standby')
    const told = await until('it to say why', async () => {
      const { message, ready } = await stranger.status()
      assert.equal(ready, false)
      return /secret key of this box does not open/.test(message)
    })
    assert.ok(told)
    const { code } = await stranger.takeover('--unplanned', '--force')
    assert.notEqual(code, 0)
    await stranger.stop()
  })

  test('takes that were delivered and not replicated are on box two, sample for sample, once each', async () => {
    const controller = await client(one)
    // Of this one the replica has everything but its audio.
    const told = await begin(controller, 2)
    await controller.delivered(told.recording.id, told.job.id, 60)
    // Of this one the row, as it was while it was recorded.
    const known = await begin(controller, KNOWN_SECONDS)
    await agent.capturing(known.job.id)
    await two.caughtUp()
    one.freezeReplication()
    await controller.delivered(known.recording.id, known.job.id, 2 * KNOWN_SECONDS)
    // Of this one nothing.
    const unknown = await begin(controller, 2)
    await controller.delivered(unknown.recording.id, unknown.job.id, 60)
    takes = await Promise.all(
      [told, known, unknown].map(async ({ job, recording }) => ({
        bytes: await controller.file(recording.id),
        id: recording.id,
        jobId: job.id,
      })),
    )
    await until('the recorder to keep them', () => kept().length === takes.length)
    await one.lose()
    fs.rmSync(one.env.SVC_DATA_DIR!, { force: true, recursive: true })

    const { code, said } = await two.takeover('--unplanned', '--force')
    assert.equal(code, 0, said + two.said())
    const next = await client(two)
    for (const { bytes, id, jobId } of takes) {
      const heard = await until(`${id} to be delivered again`, () => next.file(id).catch(() => undefined), 90)
      assert.ok(heard.equals(bytes), 'it is the same sound')
      assert.equal((await next.get(`/recording-jobs/${jobId}`)).status, 'completed')
    }
    const recordings: Recording[] = await next.get('/recordings?limit=100')
    assert.deepEqual(recordings.map(({ id }) => id).sort(), takes.map(({ id }) => id).sort())
    const jobs: Job[] = await next.get('/recording-jobs?limit=100')
    assert.equal(jobs.length, takes.length)
    await until('the recorder to keep them again', () => kept().length === takes.length)
  })

  test('the recorder lets go once a destination has them, and the replica knows', async () => {
    const controller = await client(two)
    await until(
      'the takes to be uploaded',
      async () => {
        await controller.post('/upload-runner/run')
        const items: UploadItem[] = await controller.get('/upload-queue?limit=50')
        return items.length === takes.length && items.every(({ status }) => status === 'succeeded')
      },
      150,
    )
    await until('the recorder to let go', () => kept().length === 0, 120)
    for (const { bytes, id } of takes) assert.ok((await controller.file(id)).equals(bytes))
    await agent.program.end('SIGTERM')
    await two.stop()
  })
})
