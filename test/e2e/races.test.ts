// Many at once, over real connections to the built controller: one winner, and the audit has seen everybody.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { generateSshKey } from '../../src/crypto/sshkey.ts'
import { Controller, House, type Reply } from '../kit/whole.ts'

const many = <T>(count: number, one: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => one(i)))

const tally = (replies: Reply[]): Record<number, number> => {
  const counts: Record<number, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe('races', () => {
  let house: House
  let controller: Controller

  before(async () => {
    house = await House.open()
    // Crowds of refused callers come from one address here, and every one is to leave its row.
    const env = { SVC_STRANGER_REFUSALS_PER_MINUTE: '1000' }
    controller = await (await new Controller(house, env).start()).login()
  })
  after(() => house.close())

  test('of 50 concurrent bootstraps with one token one wins, and each loser is one denied row', async () => {
    const { id } = await controller.enroll('coveted')
    const { token } = await controller.post(`/nodes/${id}/bootstrap-token`)
    const keys = Array.from({ length: 50 }, (_, i) => generateSshKey(`racer-${i}`))
    const replies = await many(50, (i) => {
      const { privateKey, publicKey } = keys[i]!
      return controller.ask('POST', `/nodes/${id}/bootstrap`, { interfaces: [], privateKey, publicKey }, token)
    })
    assert.deepEqual(tally(replies), { 201: 1, 401: 49 })
    const won = replies.find(({ status }) => status === 201)!
    const { fingerprint } = await controller.get(`/nodes/${id}/ssh-credential`)
    assert.equal(fingerprint, won.json.data.fingerprint, "the winner's key is the one that was kept")
    const rows = (await controller.trail({ target: id })).filter(({ action }) => action.startsWith('nodes.bootstrap.'))
    const outcomes = rows.map(({ action, outcome, reason }) => `${action} ${outcome} ${reason ?? ''}`)
    const denied = Array(49).fill('nodes.bootstrap.failed denied invalid_bootstrap_token')
    assert.deepEqual(outcomes.sort(), ['nodes.bootstrap.completed succeeded ', ...denied])
  })

  const DEVICES = 8
  const fleet = async () => {
    const device = (i: number) => ({
      alias: `Device ${i}`,
      channelCount: 2,
      systemName: `test:${i}`,
      systemRef: `test:${i}`,
    })
    const interfaces = Array.from({ length: DEVICES }, (_, i) => device(i))
    const recordingCapacity = { maxConcurrentRecordings: DEVICES }
    return controller.enroll('crowded', { interfaces, recordingCapacity })
  }

  const queue = async (nodeId: string): Promise<string[]> => {
    const profile = await controller.plainProfile('wav')
    const { interfaces } = await controller.get(`/nodes/${nodeId}`)
    assert.equal(interfaces.length, DEVICES)
    const jobs: string[] = []
    for (const { id } of interfaces)
      jobs.push((await controller.record(nodeId, profile, 60, { captureInterfaceId: id })).job.id)
    return jobs.sort()
  }

  test('20 clients that ask at once get each of 8 jobs exactly once', async () => {
    const { id, token } = await fleet()
    const jobs = await queue(id)
    const replies = await many(20, () => controller.ask('POST', `/nodes/${id}/recording-jobs/claim-next`, {}, token))
    assert.deepEqual(tally(replies), { 200: DEVICES, 204: 20 - DEVICES })
    const claimed = replies.flatMap(({ json }) => (json ? [json.data.id] : []))
    assert.deepEqual(claimed.sort(), jobs)
  })

  test('20 clients that wait while 8 jobs are made get each exactly once', async () => {
    const { id, token } = await fleet()
    const claimed: string[] = []
    // A client that was woken for nothing asks again, as an agent does.
    const client = async () => {
      while (claimed.length < DEVICES) {
        const route = `/nodes/${id}/recording-jobs/claim-next-group?waitSeconds=1`
        const { json } = await controller.ask('POST', route, {}, token)
        claimed.push(...(json?.data ?? []).map((job: { id: string }) => job.id))
      }
    }
    const clients = many(20, client)
    const jobs = await queue(id)
    await clients
    assert.deepEqual(claimed.sort(), jobs)
    const rows = await controller.trail({ action: 'recording_jobs.claim_next_group.succeeded', target: id })
    assert.deepEqual(rows.flatMap(({ details }) => (details.jobIds as string[] | undefined) ?? []).sort(), jobs)
  })

  test('20 clients that claim one job by its id: one has it, 19 are told so', async () => {
    const { id, token } = await fleet()
    const [job] = await queue(id)
    const replies = await many(20, () => controller.ask('POST', `/recording-jobs/${job}/claim`, {}, token))
    assert.deepEqual(tally(replies), { 200: 1, 409: 19 })
    const rows = await controller.trail({ action: 'recording_jobs.claim.failed', target: job! })
    assert.deepEqual(
      rows.map(({ outcome, reason }) => `${outcome} ${reason}`),
      Array(19).fill('failed job_not_claimable'),
    )
  })

  test('every refused call leaves exactly one denied row', async () => {
    const [own, other] = [await controller.enroll('own'), await controller.enroll('other')]
    const guest = { email: 'guest@roomtone.local', name: 'Guest', password: 'guest-of-the-house-1' }
    await controller.post('/auth/users', { ...guest, roles: ['viewer'] })
    const login = await controller.ask('POST', '/auth/login', guest, '')
    const viewer = login.json.data.token
    const wrong = 'svc_node_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
    const calls: [number, string, string, string][] = [
      [401, 'GET', '/nodes', ''],
      [401, 'GET', '/nodes', 'svc_session_of_nobody'],
      [401, 'POST', '/recordings', ''],
      [403, 'POST', '/nodes/enroll', viewer],
      [403, 'POST', `/nodes/${own.id}/credentials/rotate`, viewer],
      [403, 'GET', '/nodes/node_unknown', viewer],
      [401, 'POST', `/nodes/${own.id}/heartbeat`, wrong],
      [403, 'POST', `/nodes/${own.id}/heartbeat`, other.token],
      [403, 'GET', `/nodes/${own.id}/config`, other.token],
      [401, 'POST', `/nodes/${own.id}/recording-jobs/claim-next`, ''],
      [403, 'POST', `/nodes/${own.id}/recording-jobs/claim-next`, other.token],
      [401, 'POST', `/nodes/${own.id}/bootstrap`, wrong],
      [401, 'GET', `/nodes/${own.id}/ssh-credential/material`, wrong],
      [401, 'PUT', '/recordings/rec_unknown/cache-file', wrong],
    ]
    for (const [status, method, route, token] of calls) {
      const before = await controller.trail({ outcome: 'denied' })
      const reply = await controller.ask(method, route, method === 'GET' ? undefined : {}, token)
      assert.equal(reply.status, status, `${method} ${route}: ${JSON.stringify(reply.json)}`)
      const rows = await controller.trail({ outcome: 'denied' })
      assert.equal(rows.length - before.length, 1, `${method} ${route} with ${status}`)
    }
    // And in a crowd: none is lost, none is doubled.
    const before = await controller.trail({ outcome: 'denied' })
    await many(60, (i) => {
      const [, method, route, token] = calls[i % calls.length]!
      return controller.ask(method, route, method === 'GET' ? undefined : {}, token)
    })
    const rows = await controller.trail({ outcome: 'denied' })
    assert.equal(rows.length - before.length, 60)
  })
})
