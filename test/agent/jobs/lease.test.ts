import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lease, type LeaseDeps } from '../../../src/agent/jobs/lease.ts'
import { LinkError } from '../../../src/agent/link/link.ts'
import type { AgentJob, JobProgress } from '../../../src/wire/recordings.ts'
import { job, until } from './kit.ts'

type Wait = Parameters<LeaseDeps['link']['jobHeartbeat']>[2]

function leased(answer: (wait: Wait) => Promise<'running' | 'stop_requested'>, pollSeconds: number) {
  const asked: { wait: Wait }[] = []
  const heard: string[] = []
  const told: string[] = []
  const lease = new Lease({
    jobId: 'a',
    link: {
      jobHeartbeat: async (_, __, wait) => {
        asked.push({ wait })
        return { ...job('a'), status: await answer(wait) }
      },
      readJob: async () => job('a'),
    },
    pollSeconds,
    progress: () => ({ percent: 1, stage: 'capturing' }),
    tell: (_, name) => void told.push(name),
  })
  lease.listen((seen) => void heard.push(seen === 'gone' ? seen : seen.status))
  lease.start()
  return { asked, heard, lease, told }
}

test('the heartbeat waits at the controller, so that a stop is heard when it is asked for', async () => {
  const news = Promise.withResolvers<'stop_requested'>()
  const l = leased(() => news.promise, 60)
  await until(() => l.asked.length === 1)
  assert.equal(l.asked[0]!.wait!.seconds, 10, 'no longer than a lease bears')
  news.resolve('stop_requested')
  await until(() => l.heard.length === 1)
  assert.deepEqual(l.heard, ['stop_requested'])
  l.lease.stop()
})

test('where heartbeats are held open they are slow while sound is captured, and a new stage is told at once', async (t) => {
  let [at, stage] = [0, 'capturing' as JobProgress['stage']]
  t.mock.method(performance, 'now', () => at)
  const waits: number[] = []
  const lease = new Lease({
    jobId: 'a',
    link: {
      jobHeartbeat: (_, __, wait) => {
        waits.push(wait!.seconds)
        at += wait!.seconds * 1000
        if (waits.length < 3) return Promise.resolve(job('a'))
        return new Promise((_, reject) => wait!.signal.addEventListener('abort', () => reject(new LinkError('ended'))))
      },
      readJob: async () => job('a'),
    },
    pollSeconds: 2,
    progress: () => ({ percent: 1, stage }),
    tell: () => {},
  })
  lease.start()
  await until(() => waits.length === 3)
  stage = 'rendering'
  lease.hurry()
  await until(() => waits.length === 4)
  assert.deepEqual(waits, [2, 10, 10, 2])
  lease.stop()
})

test('a controller that does not wait is not asked again before its time', async () => {
  const l = leased(async () => 'running', 3600)
  await until(() => l.heard.length === 1)
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  l.lease.stop()
  assert.equal(l.asked.length, 1)
})

test('a job whose lease ran out is still asked for, without heartbeats, until it is to end; one that runs again is renewed', async () => {
  const expired = { failureReason: 'lease_expired', status: 'failed' } as const
  const answers: Partial<AgentJob>[] = [expired, expired, { status: 'running' }, expired, { status: 'cancelled' }]
  const [asked, heard]: [string[], string[]] = [[], []]
  const next = () => ({ ...job('a'), ...answers[heard.length] })
  const lease = new Lease({
    jobId: 'a',
    link: {
      jobHeartbeat: async () => {
        asked.push('heartbeat')
        if (next().status === 'failed') throw new LinkError('not heartbeatable', 409)
        return next()
      },
      readJob: async () => {
        asked.push('read')
        return next()
      },
    },
    pollSeconds: 0.001,
    progress: () => ({ percent: 1, stage: 'capturing' }),
    tell: () => {},
  })
  lease.listen((seen) => void heard.push(seen === 'gone' ? seen : seen.status))
  lease.start()
  await until(() => heard.at(-1) === 'cancelled')
  assert.deepEqual(heard, ['failed', 'failed', 'running', 'failed', 'cancelled'])
  assert.deepEqual(asked, ['heartbeat', 'read', 'read', 'read', 'heartbeat', 'read', 'read'])
})

test('a lease that is stopped ends its open request, and tells nothing of it', async () => {
  const l = leased(
    (wait) => new Promise((_, reject) => wait!.signal.addEventListener('abort', () => reject(new Error('stopped')))),
    60,
  )
  await until(() => l.asked.length === 1)
  l.lease.stop()
  assert.ok(l.asked[0]!.wait!.signal.aborted)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([l.heard, l.told], [[], []])
})

test('a job its own controller does not know is over; one that another box does not know, which took over since, goes on', async () => {
  const terms = { now: 1 }
  const unknown = async (): Promise<never> => {
    throw new LinkError('not found', 404)
  }
  const follow = () => {
    const heard: string[] = []
    const told: string[] = []
    const lease = new Lease({
      jobId: 'a',
      link: { jobHeartbeat: unknown, readJob: unknown, term: () => terms.now },
      pollSeconds: 0.001,
      progress: () => ({ percent: 1, stage: 'capturing' }),
      tell: (_, name) => void told.push(name),
    })
    lease.listen((seen) => void heard.push(String(seen)))
    return { heard, lease, told }
  }
  const [own, earlier] = [follow(), follow()]
  own.lease.start()
  await until(() => own.heard.length > 0)
  assert.deepEqual(own.heard, ['gone'])
  terms.now = 2
  earlier.lease.start()
  await until(() => earlier.told.length > 0)
  assert.deepEqual([earlier.heard, earlier.told], [[], ['control_plane_failed']])
  earlier.lease.stop()
})
