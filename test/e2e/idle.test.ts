// What stays behind: few audit rows of an agent that does nothing, and no secret anywhere.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN, Agent, Controller, filesBelow, House, RUNNER_TOKEN } from '../kit/whole.ts'

describe('an agent with nothing to do', () => {
  let house: House
  let controller: Controller
  let agent: Agent
  let nodeId: string
  /** Secret -> what it is. */
  const secrets = new Map<string, string>()

  before(async () => {
    house = await House.open()
    controller = await (await new Controller(house).start()).login()
    const envFile = house.path('agent', 'recorder-agent.env')
    // How busy the machine is, is no affair of this test.
    agent = new Agent(house, { SVC_SYSTEM_HEALTH_ENABLED: 'false' }, ['--env-file', envFile])
    nodeId = (await controller.enroll('idle')).id
    const { token } = await controller.post(`/nodes/${nodeId}/bootstrap-token`)
    const tokenFile = house.path('bootstrap-token')
    fs.writeFileSync(tokenFile, token, { mode: 0o600 })
    const args = ['agent', '--bootstrap', '--test-source', '--controller-url', controller.url]
    const env = {
      SVC_ALSA_PROC_ROOT: house.path('asound'),
      SVC_BOOTSTRAP_ENV_FILE: envFile,
      SVC_BOOTSTRAP_TOKEN_FILE: tokenFile,
      SVC_NODE_ID: nodeId,
    }
    const joined = house.start(args, { cwd: agent.dir, env })
    assert.deepEqual(await joined.exited, [0, null], joined.said())
    fs.rmSync(tokenFile)
    secrets.set(token, 'the bootstrap token')
    const [, nodeToken = ''] = /^SVC_CONTROLLER_TOKEN=(\S+)$/m.exec(fs.readFileSync(envFile, 'utf8')) ?? []
    secrets.set(nodeToken, 'the node token')
  })
  after(() => house.close())

  test('writes a row for each first thing it does, and no more while it idles', async () => {
    agent.start()
    await controller.online(nodeId)
    // Below the 25 s of a claim's long poll: its first answer is one row more.
    await sleep(18_000)
    const rows = (await controller.trail()).filter(({ actor }) => actor.type === 'node' && actor.id === nodeId)
    const lines = rows.map(({ action, details }) => `${action}${details.changed ? ', a change' : ''}`)
    assert.deepEqual(lines.sort(), [
      'nodes.bootstrap.completed',
      'nodes.config.read.succeeded',
      'nodes.health_events.sync.succeeded',
      'nodes.heartbeat.succeeded',
      'nodes.heartbeat.succeeded, a change',
      'nodes.inventory.reconciled',
      'nodes.meter_frame.ingest.succeeded',
      'nodes.meter_frames.ingest.succeeded',
    ])
  })

  test('no token, password or private key is in the database, a log or the audit', async () => {
    const guest = { email: 'guest@roomtone.local', name: 'Guest', password: 'guest-of-the-house-1', roles: ['viewer'] }
    await controller.post('/auth/users', guest)
    const login = await controller.ask('POST', '/auth/login', guest, '')
    const mistyped = 'a-password-mistyped-1'
    await controller.ask('POST', '/auth/login', { ...ADMIN, password: mistyped }, '')
    const { credential } = await controller.post(`/nodes/${nodeId}/credentials/rotate`)
    const material = await controller.ask(
      'GET',
      `/nodes/${nodeId}/ssh-credential/material?mintToken=1`,
      undefined,
      RUNNER_TOKEN,
    )
    assert.equal(material.status, 200, JSON.stringify(material.json))
    const { controllerToken, privateKey } = material.json.data
    for (const [secret, what] of [
      [ADMIN.password, "the admin's password"],
      [controller.session, "the admin's session"],
      [guest.password, "a user's password"],
      [login.json.data.token, "a user's session"],
      [mistyped, 'a mistyped password'],
      [RUNNER_TOKEN, "the runner's token"],
      [credential.token, 'a rotated token'],
      [controllerToken, 'a minted token'],
      [fs.readFileSync(house.path('controller', 'secret.key'), 'utf8').trim(), 'the key that seals'],
    ])
      secrets.set(secret, what)
    // The first lines of an OpenSSH key hold its public half.
    const lines = (privateKey as string).split('\n').filter((line) => line.length > 40 && !line.startsWith('-----'))
    for (const line of lines.slice(2)) secrets.set(line, 'a line of the private key')
    assert.ok([...secrets.values()].includes('a line of the private key'))
    for (const [secret, what] of secrets) assert.ok(secret.length >= 16, `${what}: ${secret}`)
    secrets.set('PRIVATE KEY', 'the head of a private key')

    const audit = JSON.stringify(await controller.trail())
    const places: [string, Buffer][] = [
      ['the audit', Buffer.from(audit)],
      ['what the programs said', Buffer.from(house.said())],
    ]
    const databases = filesBelow(controller.data).filter((file) => file.startsWith('roomtone.db'))
    assert.ok(databases.includes('roomtone.db-wal'), databases.join())
    for (const file of databases) places.push([file, fs.readFileSync(`${controller.data}/${file}`)])
    // The env file is the one place a node token belongs to.
    for (const file of filesBelow(agent.dir).filter((name) => name !== 'recorder-agent.env'))
      places.push([`agent/${file}`, fs.readFileSync(`${agent.dir}/${file}`)])
    for (const [where, bytes] of places)
      for (const [secret, what] of secrets) assert.ok(!bytes.includes(secret), `${what} is in ${where}`)
  })
})
