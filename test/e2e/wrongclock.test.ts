// The clock of a recorder is put, or was never right: takes live by the time that passes, not by the time of day.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as tls from 'node:tls'
import { hostOf } from '../../src/system/tls/names.ts'
import { initSite, siteFiles } from '../../src/system/tls/site.ts'
import { executable } from '../kit/executable.ts'
import { immovable, WallClock } from '../kit/wallclock.ts'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { RATE } from './signal.ts'
import { assertExact, framesOf, readWav } from './sound.ts'
import { gapsInLog, gapsKept } from './told.ts'

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400]
const YEAR = 365 * DAY
const JUMPS = [HOUR, DAY, YEAR, -10 * MINUTE, -DAY, -2 * YEAR, 12_345, -98_765]

async function settle(t: TestContext) {
  const house = await House.open(await executable())
  t.after(() => house.close())
  const controller = await (await new Controller(house).start()).login()
  const { id, token } = await controller.enroll('clockless')
  const wall = new WallClock(house.path('wall'))
  const agent = new Agent(house, {
    SVC_CONTROLLER_TOKEN: token,
    SVC_CONTROLLER_URL: controller.url,
    SVC_HEARTBEAT_SECONDS: '1',
    SVC_JOB_POLL_SECONDS: '1',
    SVC_NODE_ID: id,
    ...wall.env,
  })
  agent.start()
  await controller.online(id)
  return { agent, controller, house, id, wall }
}

describe('a recorder whose clock is wrong', { concurrency: 2, skip: immovable() }, () => {
  test('eight jumps within a take: every sample, no gap, its length, and a job that ends well', async (t) => {
    const { agent, controller, id, wall } = await settle(t)
    const seconds = 12
    const profile = await controller.plainProfile('wav')
    await controller.get(`/settings/recording-profiles/${profile}`, 'PATCH', { chunkSeconds: 2 })
    const { job, recording } = await controller.record(id, profile, seconds)
    await agent.capturing(job.id)
    for (const jump of JUMPS) {
      wall.put(jump)
      await sleep(1000)
    }
    await controller.delivered(recording.id, job.id)
    const seen = await until('the joined file', async () => {
      const now = await controller.get(`/recordings/${recording.id}`)
      return now.cached && now
    })
    const heard = readWav(await controller.file(recording.id))
    assert.equal(framesOf(heard), seconds * RATE)
    assertExact(heard, recording.id)
    assert.deepEqual([gapsInLog(agent, job.id), gapsKept(seen)], [[], []])
    // Of the take there is nothing to tell, and the link never failed.
    const bad = agent.events().filter(({ severity }) => severity !== 'info')
    const odd = bad.map(({ type }) => type).filter((type) => !/^agent\.system\.(clock_skew|cpu_|disk_|load)/.test(type))
    assert.deepEqual(odd, [])
    assert.ok(agent.has('agent.system.clock_skew'))
    wall.right()
    await until('the clock to be right again', () => agent.has('agent.system.clock_skew_recovered'))
  })

  for (const jump of [-YEAR, DAY])
    test(`killed within a take, and the clock is put by ${jump / DAY} days meanwhile: the gap is as long as the absence`, async (t) => {
      const { agent, controller, id, wall } = await settle(t)
      const [seconds, absence] = [20, 2]
      const { job, recording } = await controller.record(id, await controller.plainProfile('wav'), seconds)
      await agent.capturing(job.id)
      await sleep(1500)
      await agent.program.end('SIGKILL')
      wall.put(jump)
      const began = performance.now()
      await sleep(absence * 1000)
      agent.start()
      await controller.delivered(recording.id, job.id)
      const most = (performance.now() - began) / 1000
      const heard = readWav(await controller.file(recording.id))
      const gaps = gapsInLog(agent, job.id)
      assert.equal(framesOf(heard), seconds * RATE, 'a take whose time is not over goes on')
      assertExact(heard, recording.id, gaps)
      assert.equal(gaps.length, 1)
      assert.ok(gaps[0]!.seconds >= absence && gaps[0]!.seconds < most, JSON.stringify(gaps))
    })

  for (const [what, wrong, words] of [
    ['behind by years', -3 * YEAR, /not valid yet: check the clock of this machine\. Here it is 20\d\d-/],
    ['ahead by years', 3 * YEAR, /has expired: check the clock of this machine, or renew/],
  ] as const)
    test(`${what}: it says so when it joins and in service, and goes on by itself when the time is right`, async (t) => {
      const house = await House.open(await executable())
      t.after(() => house.close())
      const dir = house.path('tls')
      initSite(dir, [hostOf('localhost')!], [], 397, Date.now())
      const { ca, cert, key } = siteFiles(dir)
      tls.setDefaultCACertificates([...tls.getCACertificates('default'), fs.readFileSync(ca, 'utf8')])
      const env = { SVC_API_TLS_CERT_PATH: cert, SVC_API_TLS_KEY_PATH: key }
      const controller = await new Controller(house, env).start()
      const url = controller.url.replace('127.0.0.1', 'localhost')
      await controller.at(url).login()
      const { id } = await controller.enroll('new')
      const bootstrap = await controller.post(`/nodes/${id}/bootstrap-token`)
      const wall = new WallClock(house.path('wall'), wrong)
      const common = { SVC_CONTROLLER_CA_CERT_PATH: ca, SVC_CONTROLLER_URL: url, SVC_NODE_ID: id, ...wall.env }
      const files = {
        SVC_BOOTSTRAP_AUTHORIZED_KEYS: house.path('keys', 'authorized_keys'),
        SVC_BOOTSTRAP_ENV_FILE: house.path('box', 'agent.env'),
        SVC_BOOTSTRAP_TOKEN: bootstrap.token,
        SVC_BOOTSTRAP_USER: 'recorder',
      }
      const joining = new Agent(house, { ...common, ...files }, ['--bootstrap'], 'joining').start()
      await until('words about the clock', () => words.test(joining.program.said()))
      assert.equal(joining.program.child.exitCode, null, 'it waits')
      wall.right()
      assert.deepEqual(await joining.program.exited, [0, null], joining.program.said())
      const token = /^SVC_CONTROLLER_TOKEN=(.*)$/m.exec(fs.readFileSync(files.SVC_BOOTSTRAP_ENV_FILE, 'utf8'))![1]!
      wall.put(wrong)
      const agent = new Agent(house, {
        ...common,
        SVC_CONTROLLER_TOKEN: token.replaceAll(/["']/g, ''),
        SVC_HEARTBEAT_SECONDS: '1',
      }).start()
      await until('words about the clock in the log', () => words.test(agent.program.said()))
      wall.right()
      await controller.online(id)
      await until('the controller to hear of it', async () => {
        const rows: { details: { error?: string } }[] = await controller.get(`/health-events?nodeId=${id}`)
        return rows.some(({ details }) => words.test(details.error ?? ''))
      })
    })
})
