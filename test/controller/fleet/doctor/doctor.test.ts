// The doctor of a recorder, asked from the console: the question goes by the configuration, the answer comes back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advice, type Check } from '../../../../src/wire/doctor.ts'
import { kit } from '../../../kit/kit.ts'

const CHECKS: Check[] = [
  { id: 'ffmpeg', message: 'ffmpeg version 5.1', status: 'ok' },
  {
    fix: advice('Plug it in. What is there:', 'arecord -l'),
    id: 'device.present',
    message: 'There is no capture device',
    status: 'fail',
  },
]
const REPORT = { checks: CHECKS, ok: false, role: 'agent' }

/** A node that is online, and its question once somebody asks. */
async function world() {
  const k = kit()
  const { agent, id } = await k.enroll()
  await agent.post(`/nodes/${id}/heartbeat`, { agentVersion: '1', hostname: 'hall' })
  const path = `/nodes/${id}`
  const asked = async (): Promise<string | undefined> => (await agent.get(`${path}/config`)).json.data.doctor?.requestId
  /** Long poll: answers as soon as the configuration is another one. */
  const poll = async (): Promise<string | undefined> => {
    const { etag } = Object.fromEntries((await agent.get(`${path}/config`)).headers)
    const next = await agent.get(`${path}/config?waitSeconds=25`, { 'if-none-match': etag })
    return next.json.data.doctor?.requestId
  }
  const send = (requestId: string | undefined, report: unknown = REPORT) =>
    agent.post(`${path}/doctor-report`, { report, requestId })
  return { agent, asked, id, k, path, poll, send }
}

test('who asks waits for the report of this recorder, and it is kept', async () => {
  const { asked, id, k, path, poll, send } = await world()
  const admin = k.as('admin')
  assert.equal((await admin.get(`${path}/doctor?last=1`)).json.data, null)
  assert.equal(await asked(), undefined)
  k.forget()
  const polled = poll()
  const answer = admin.get(`${path}/doctor`)
  const requestId = await polled
  assert.ok(requestId)
  assert.equal((await send(requestId)).status, 202)
  const { json, status } = await answer
  assert.equal(status, 200)
  assert.deepEqual(json.data, { ...REPORT, madeAt: k.now(), nodeId: id })
  assert.equal(await asked(), undefined, 'nobody waits any more')
  assert.deepEqual((await admin.get(`${path}/doctor?last=1`)).json.data, json.data)
  const trail = k.trail().filter((row) => row.includes('doctor'))
  assert.deepEqual(trail.slice(0, 3), [
    'nodes.doctor.read allowed',
    'nodes.doctor.report.succeeded succeeded',
    'nodes.doctor.read.succeeded succeeded',
  ])
  await k.close()
})

test('whoever asks meanwhile gets the same report', async () => {
  const { k, path, poll, send } = await world()
  const polled = poll()
  const answers = [k.as('admin'), k.as('owner')].map((person) => person.get(`${path}/doctor`))
  const requestId = await polled
  await send(requestId)
  const [first, second] = await Promise.all(answers)
  assert.deepEqual(first?.json, second?.json)
  assert.equal((await send(requestId)).json.reason, 'doctor_not_asked', 'it is answered once')
  await k.close()
})

test('a recorder that is not connected cannot be asked, one that says nothing is not waited for longer than 20 s', async () => {
  const { asked, k, path, poll, send } = await world()
  const polled = poll()
  const waiting = k.as('admin').get(`${path}/doctor`)
  const requestId = await polled
  k.advance('21s')
  k.notifier.notifyAll('doctor')
  const { json, status } = await waiting
  assert.deepEqual([status, json.reason], [504, 'doctor_no_answer'])
  assert.equal(await asked(), undefined)
  assert.equal((await send(requestId)).status, 409)
  k.advance('10m')
  const offline = await k.as('admin').get(`${path}/doctor`)
  assert.deepEqual([offline.status, offline.json.reason], [409, 'node_offline'])
  await k.as('admin').post(`${path}/retire`)
  assert.equal((await k.as('admin').get(`${path}/doctor`)).json.reason, 'node_retired')
  await k.close()
})

test('only who manages the node may ask, and only the node may answer, in the shape of a report', async () => {
  const { agent, k, path, poll, send } = await world()
  assert.equal((await k.as('viewer').get(`${path}/doctor`)).status, 403)
  assert.equal((await k.as('operator').get(`${path}/doctor?last=1`)).status, 403)
  assert.equal((await k.as('admin').get(`${path}/doctor?last=2`)).status, 400)
  const other = await k.enroll('Other')
  assert.equal((await other.agent.post(`${path}/doctor-report`, { report: REPORT, requestId: 'x' })).status, 403)
  const polled = poll()
  const answer = k.as('admin').get(`${path}/doctor`)
  const requestId = await polled
  const bad = [
    { ...REPORT, ok: true },
    { ...REPORT, role: 'controller' },
    { ...REPORT, checks: [] },
    { ...REPORT, checks: [{ id: 'Not an id', message: 'x', status: 'ok' }] },
    { ...REPORT, checks: [{ ...CHECKS[0], more: 1 }] },
    { ...REPORT, checks: Array(65).fill(CHECKS[1]) },
    { ...REPORT, checks: [{ id: 'x', message: 'm'.repeat(601), status: 'ok' }] },
    'words',
  ]
  for (const report of bad) assert.equal((await send(requestId, report)).status, 400, JSON.stringify(report))
  const long = await agent.post(`${path}/doctor-report`, { report: REPORT, requestId, more: 'm'.repeat(200_000) })
  assert.equal(long.status, 413)
  await send(requestId)
  assert.equal((await answer).status, 200)
  await k.close()
})
