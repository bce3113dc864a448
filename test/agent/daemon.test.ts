import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { describe, test } from 'node:test'
import pkg from '../../package.json' with { type: 'json' }
import { MARKED_HEADER } from '../../src/agent/audio/marks.rules.ts'
import { type OnlineSign, readOnlineSign } from '../../src/system/host/onlinesign.ts'
import { managed, manager } from '../system/host/manager.ts'
import { agent, controller, kind, TOKEN } from './daemon.ts'
import { until } from './jobs/kit.ts'
import { type Handler, json, type Seen, serve, stored, tempDir } from './server.ts'

const bodyOf = ({ body }: Seen) => (body[0] === 0x7b ? JSON.parse(body.toString()) : {})

const job = (durationSeconds: number, status = 'running') => ({
  command: {
    captureChannels: 2,
    captureDevice: 'test:',
    captureFormat: 'S16_LE',
    captureSampleRate: 48_000,
    durationSeconds,
    outputCodec: 'wav',
    outputFileName: 'rec_1.wav',
    type: 'alsa_capture',
  },
  id: 'job_1',
  nodeId: 'node_1',
  recordingId: 'rec_1',
  status,
})

/** Whether a take with some sound in it is on the agent's disk. */
const hasAudio = (dir: string): boolean =>
  fs
    .readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((file) => path.basename(file) !== 'ballast')
    .map((file) => fs.statSync(path.join(dir, file), { throwIfNoEntry: false }))
    .some((stat) => stat?.isFile() && stat.size > 10_000)

/** Hands out one job, takes its upload and then says it is completed. */
function oneJob(durationSeconds: number, uploaded: (seen: Seen) => void): Handler {
  let handed = false
  let status = 'running'
  return controller((seen, response) => {
    if (seen.url.includes('claim-next-group') && !handed) {
      handed = true
      json(response, 200, { data: [job(durationSeconds)] })
    } else if (seen.method === 'HEAD') response.writeHead(404).end()
    else if (seen.method === 'PUT') {
      status = 'completed'
      stored(response, seen)
      uploaded(seen)
    } else if (seen.url.includes('/recording-jobs/job_1')) json(response, 200, { data: job(durationSeconds, status) })
    else return false
    return true
  })
}

// Each has a controller and a directory of its own, and waits for beats more than it works.
describe('the agent as a daemon', { concurrency: 3 }, () => {
  test('the daemon reports itself, its interfaces, beats, waits for jobs with one claim, and stops on SIGTERM', async (t) => {
    const beats = Promise.withResolvers<void>()
    let count = 0
    const server = await serve(
      t,
      controller((seen) => {
        if (kind(seen) === 'heartbeat' && ++count === 3) beats.resolve()
        return false
      }),
    )
    const { child, ended, output } = agent(t, server.url)
    await beats.promise
    child.kill('SIGTERM')
    assert.equal(await ended, 0, output())
    const kinds = server.seen.map(kind)
    assert.equal(kinds.filter((k) => k === 'inventory').length, 1)
    assert.ok(kinds.indexOf('inventory') < kinds.indexOf('heartbeat'))
    const claims = server.seen.filter((s) => kind(s).endsWith('claim-next-group'))
    assert.deepEqual(
      [claims.length, claims[0]?.url.split('?')[1], bodyOf(claims[0] as Seen)],
      [1, 'waitSeconds=25', { holding: [], shares: true }],
    )
    const inventory = server.seen.find((s) => kind(s) === 'inventory') as Seen
    assert.equal(bodyOf(inventory).interfaces[0].systemRef, 'test:tone')
    const beat = server.seen.find((s) => kind(s) === 'heartbeat') as Seen
    assert.deepEqual([bodyOf(beat).status, typeof bodyOf(beat).runtime.uptimeSeconds], ['online', 'number'])
    const events = server.seen.filter((s) => kind(s) === 'health-events').map((s) => bodyOf(s).type)
    assert.deepEqual(events, ['agent.started'])
    assert.ok(server.seen.every((s) => s.headers.authorization === `Bearer ${TOKEN}`))
    assert.ok(!output().includes(TOKEN))
  })

  test('an outage is told once when it starts and once when it ends, and the inventory is posted until it is taken', async (t) => {
    const told = Promise.withResolvers<void>()
    const count: Record<string, number> = {}
    const events: string[] = []
    const server = await serve(
      t,
      controller((seen, response) => {
        const k = kind(seen)
        count[k] = (count[k] ?? 0) + 1
        if ((k === 'heartbeat' && count[k] <= 2) || (k === 'inventory' && count[k] === 1)) {
          json(response, 503, { error: 'unavailable' })
          return true
        }
        if (k === 'health-events') {
          events.push(bodyOf(seen).type)
          if (['node_heartbeat', 'node_inventory'].every((x) => events.includes(`agent.${x}.sync_recovered`)))
            told.resolve()
        }
        return false
      }),
    )
    const { child, ended, output } = agent(t, server.url)
    await told.promise
    child.kill('SIGINT')
    assert.equal(await ended, 0, output())
    assert.deepEqual([...events].sort(), [
      'agent.node_heartbeat.sync_failed',
      'agent.node_heartbeat.sync_recovered',
      'agent.node_inventory.sync_failed',
      'agent.node_inventory.sync_recovered',
      'agent.started',
    ])
  })

  test('a clock that is wrong is told, and the heartbeat goes on', async (t) => {
    const told = Promise.withResolvers<Record<string, unknown>>()
    const beaten = Promise.withResolvers<number>()
    const server = await serve(
      t,
      controller((seen, response) => {
        if (kind(seen) === 'heartbeat') response.setHeader('date', new Date(Date.now() + 60_000).toUTCString())
        const { runtime, type } = bodyOf(seen)
        if (type === 'agent.system.clock_skew') told.resolve(bodyOf(seen))
        if (runtime?.clock?.skewSeconds !== undefined) beaten.resolve(runtime.clock.skewSeconds)
        return false
      }),
    )
    const { child, ended } = agent(t, server.url)
    assert.equal((await told.promise).severity, 'warning')
    assert.ok((await beaten.promise) < -50, 'the next heartbeat says by how much')
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
  })

  test('the service manager hears when the agent is ready, and when it ends', managed, async (t) => {
    const { got, socket } = await manager(t)
    const server = await serve(t, controller())
    const { child, ended, output } = agent(t, server.url, [], { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '400000' })
    const count = (word: string) => got.flat().filter((said) => said === word).length
    await until(() => count('WATCHDOG=1') >= 3)
    assert.deepEqual([count('READY=1'), count('STATUS=ready'), count('STOPPING=1')], [1, 1, 0])
    assert.equal(server.seen.filter((seen) => kind(seen) === 'inventory').length, 1)
    child.kill('SIGTERM')
    assert.equal(await ended, 0, output())
    await until(() => count('STOPPING=1') === 1)
    assert.ok(!output().includes('could not report the service state'), output())
  })

  test('without a token the agent stays up, says so once and sends nothing', async (t) => {
    const server = await serve(t, controller())
    const { child, ended, output } = agent(t, server.url, [], { SVC_CONTROLLER_TOKEN: '' })
    await new Promise<void>((resolve) =>
      child.stdout?.on('data', () => output().includes('no controller token') && resolve()),
    )
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
    assert.equal(output().split('no controller token').length, 2)
    assert.equal(server.connections(), 0)
  })

  test('--run-next-job with nothing queued ends well, without inventory or heartbeat', async (t) => {
    const server = await serve(t, (_seen, response) => response.writeHead(204).end())
    const { ended, output } = agent(t, server.url, ['--run-next-job'])
    assert.equal(await ended, 0, output())
    assert.deepEqual(server.seen.map(kind), ['recording-jobs/claim-next-group'])
  })

  test('the daemon refuses to start over an unsafe address, in a sentence', async (t) => {
    const { ended, output } = agent(t, 'http://192.0.2.1:8787')
    assert.equal(await ended, 1)
    assert.match(output(), /refusing plain http to 192\.0\.2\.1/)
  })

  test('a claimed job is recorded, shown as recording meanwhile, and uploaded', async (t) => {
    const uploaded = Promise.withResolvers<Seen>()
    const server = await serve(t, oneJob(3, uploaded.resolve))
    const { child, ended, output } = agent(t, server.url)
    const take = await uploaded.promise
    // Two channels of 16 bit at 48 kHz for three seconds, and a header.
    assert.equal(take.body.length, 3 * 48_000 * 2 * 2 + MARKED_HEADER)
    child.kill('SIGTERM')
    assert.equal(await ended, 0, output())
    const statuses = server.seen.filter((s) => kind(s) === 'heartbeat').map((s) => bodyOf(s).status)
    assert.ok(statuses.includes('recording'), statuses.join())
  })

  test('SIGTERM during a take keeps it: it is finished, uploaded, and the agent exits 0', async (t) => {
    const heard = Promise.withResolvers<void>()
    let dir = ''
    const takes: Seen[] = []
    const inner = oneJob(600, (seen) => takes.push(seen))
    const server = await serve(t, (seen, response, request) => {
      if (kind(seen) === 'heartbeat' && hasAudio(dir)) heard.resolve()
      inner(seen, response, request)
    })
    const started = agent(t, server.url)
    const { child, ended, output } = started
    dir = started.dir
    await heard.promise
    child.kill('SIGTERM')
    assert.equal(await ended, 0, output())
    assert.equal(takes.length, 1, output())
  })

  test('a second signal ends an agent at once that still finishes; its take is on the disk', async (t) => {
    const heard = Promise.withResolvers<void>()
    const stuck = Promise.withResolvers<void>()
    const inner = oneJob(600, () => undefined)
    let dir = ''
    const server = await serve(t, (seen, response, request) => {
      if (kind(seen) === 'heartbeat' && hasAudio(dir)) heard.resolve()
      // Taken, and never answered.
      if (seen.method === 'PUT') return stuck.resolve()
      inner(seen, response, request)
    })
    const started = agent(t, server.url)
    const { child, ended, output } = started
    dir = started.dir
    await heard.promise
    child.kill('SIGINT')
    await stuck.promise
    child.kill('SIGTERM')
    assert.equal(await ended, null, output())
    assert.ok(hasAudio(dir))
  })

  test('--run-next-job runs one job and exits with its outcome', async (t) => {
    const takes: Seen[] = []
    const server = await serve(
      t,
      oneJob(1, (seen) => takes.push(seen)),
    )
    const { ended, output } = agent(t, server.url, ['--run-next-job'])
    assert.equal(await ended, 0, output())
    assert.equal(takes.length, 1)
  })

  test('the sign of being online follows the controller, and bears the process that wrote it', async (t) => {
    let heard = true
    const server = await serve(
      t,
      controller((seen, response) => {
        if (kind(seen) !== 'heartbeat' || heard) return false
        json(response, 503, { error: 'away' })
        return true
      }),
    )
    const { child, dir, ended } = agent(t, server.url, [], { SVC_AGENT_DIR: 'state' })
    const state = path.join(dir, 'state')
    const sign = (online: boolean) => until(() => readOnlineSign(state)?.online === online)
    await sign(true)
    const { at, ...first } = readOnlineSign(state) as OnlineSign
    assert.deepEqual(first, { captureDevice: true, online: true, pid: child.pid, version: pkg.version })
    heard = false
    await sign(false)
    heard = true
    await sign(true)
    assert.ok((readOnlineSign(state)?.at ?? '') > at)
    assert.equal((fs.statSync(path.join(state, 'online.json')).mode & 0o777).toString(8), '600')
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
  })

  test('the sign of an earlier run is gone before the controller answers', async (t) => {
    const asked = Promise.withResolvers<void>()
    const server = await serve(
      t,
      controller((seen) => {
        if (kind(seen) !== 'heartbeat') return false
        asked.resolve()
        return true
      }),
    )
    const stale = tempDir(t)
    fs.writeFileSync(
      path.join(stale, 'online.json'),
      '{"at":"2026-01-01T00:00:00.000Z","online":true,"pid":1,"version":"1"}',
    )
    assert.equal(readOnlineSign(stale)?.online, true)
    const { child, ended } = agent(t, server.url, [], { SVC_AGENT_DIR: stale })
    await asked.promise
    assert.equal(readOnlineSign(stale), undefined)
    child.kill('SIGKILL')
    await ended
  })

  test('a card that arrives is reported without waiting for the next heartbeat, and one that goes too', async (t) => {
    const inventories: { channelCount: number; systemRef: string }[][] = []
    const server = await serve(
      t,
      controller((seen) => {
        if (kind(seen) === 'inventory') inventories.push(bodyOf(seen).interfaces)
        return false
      }),
    )
    const asound = path.join(tempDir(t), 'asound')
    const env = {
      SVC_AGENT_DIR: 'state',
      SVC_ALSA_PROC_ROOT: asound,
      SVC_HEARTBEAT_SECONDS: '3600',
      SVC_TEST_SOURCE: '',
    }
    const { child, dir, ended } = agent(t, server.url, [], env)
    const refs = () => inventories.at(-1)?.map(({ channelCount, systemRef }) => [systemRef, channelCount])
    await until(() => readOnlineSign(path.join(dir, 'state'))?.captureDevice === false)
    assert.deepEqual(refs(), [], 'nothing is invented')
    fs.mkdirSync(path.join(asound, 'card0'), { recursive: true })
    fs.writeFileSync(path.join(asound, 'card0', 'id'), 'Desk\n')
    fs.writeFileSync(path.join(asound, 'card0', 'stream0'), 'Desk\n\nCapture:\n  Channels: 4\n  Rates: 48000\n')
    fs.writeFileSync(path.join(asound, 'pcm'), '00-00: Desk : Desk : capture 1\n')
    await until(() => inventories.length > 1)
    assert.deepEqual(refs(), [['hw:CARD=Desk,DEV=0', 4]])
    fs.rmSync(path.join(asound, 'pcm'))
    await until(() => inventories.at(-1)?.length === 0)
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
  })
})
