// Minutes before a lecture a microphone is unplugged, a recorder stops, a line is dead: who is told, in what time, and that it is
// well again. The built controller and agent, a card of the JACK graph, receivers of webhooks and a mail server.
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TELL_AFTER_MS } from '../../src/controller/monitoring/foresight/holds.ts'
import { ALERTS } from '../../src/wire/alerts.en.ts'
import type { HealthEvent } from '../../src/wire/health.ts'
import type { Node } from '../../src/wire/nodes.ts'
import type { RunnerReport } from '../../src/wire/status.ts'
import { peer } from '../kit/peer.ts'
import { certificate, NO_SMTPD, smtpServer } from '../kit/smtp.ts'
import { Controller, House, type Program, until } from '../kit/whole.ts'
import { Cards, layProc, missingPackages } from './card.ts'

const KEY = `whsec_${Buffer.from('k'.repeat(32)).toString('base64')}`
const PASSWORD = 'password of a person'
const MINUTE = 60
const TEN_MINUTES = 600
/** Silence after which the recorder of this house is offline, seconds. */
const OFFLINE_AFTER = 15
const GONE = 'foresight.device_gone'
const OFFLINE = 'foresight.recorder_offline'
const SILENT = [OFFLINE, 'watchdog.node_offline']
const PREFLIGHT = 'foresight.preflight'

/** Somebody who wants own mail of what happens at a site. */
async function person(controller: Controller, name: string, site: string): Promise<string> {
  const email = `${name}@example.org`
  const resourceGrants = [{ resourceId: site, resourceType: 'site' }]
  await controller.post('/auth/users', { email, name, password: PASSWORD, resourceGrants, roles: ['viewer'] })
  const { json } = await controller.ask('POST', '/auth/login', { email, password: PASSWORD })
  const wish = { email: { enabled: true, minSeverity: 'warning' } }
  const { status } = await controller.ask('PATCH', '/auth/me/notifications', wish, json.data.token)
  assert.equal(status, 200)
  return email
}

/** Mail and webhooks of two sites: `hall` of one room, `attic` of another one of its site, `south` of another site. */
async function receivers(t: TestContext, controller: Controller, mailPort: number) {
  const receiver = await peer((_, response) => void response.writeHead(200).end('{}'))
  t.after(() => receiver.close())
  const room = async (name: string, site: string): Promise<string> =>
    (await controller.post('/rooms', { name, site })).id
  const rooms = {
    attic: await room('Attic', 'North'),
    hall: await room('Hall', 'North'),
    south: await room('Hall', 'South'),
  }
  const wheres = { attic: { roomIds: [rooms.attic] }, hall: { roomIds: [rooms.hall] }, south: { siteNames: ['South'] } }
  for (const [name, where] of Object.entries(wheres)) {
    const hook = { kind: 'webhook', name, secret: KEY, webhook: { url: `${receiver.url}/${name}` } }
    const { id: channelId } = await controller.post('/settings/notification-channels', hook)
    const rule = { ...where, channelId, minSeverity: 'warning', name, types: ['foresight.*'] }
    await controller.post('/settings/notification-rules', rule)
  }
  const email = { from: 'rooms@example.org', host: 'localhost', port: mailPort, security: 'starttls', to: [] }
  await controller.post('/settings/notification-channels', { email, forPeople: true, kind: 'email', name: 'Mail' })
  /** What was sent to an address of the receiver: `opened foresight.device_gone`. */
  const hooks = (name: string): string[] =>
    receiver.asked
      .filter(({ url }) => url === `/${name}`)
      .map(({ body }) => JSON.parse(body))
      .map(({ data, type }) => `${type.slice('health.'.length)} ${data.event.type}`)
  return { hooks, rooms }
}

/** What a recorder listens to, as its settings name it. */
interface Rig {
  env: Record<string, string>
}

/** A microphone that can be unplugged and plugged in again. */
async function microphone(t: TestContext, house: House) {
  const cards = await Cards.lay(house.path('cards'))
  t.after(() => cards.close())
  const list = cards.env.SVC_ALSA_PROC_ROOT!
  layProc(list, ['Desk'])
  return {
    env: cards.env,
    plugIn: async () => {
      await cards.plugIn()
      layProc(list, ['Desk'])
    },
    unplug: async () => {
      layProc(list, [])
      await cards.unplug()
    },
  }
}

/** A card with nothing at its inputs. */
async function deadLine(_: TestContext, house: House): Promise<Rig> {
  const list = house.path('cards')
  layProc(list, ['Desk'])
  const template = '-v error -re -f lavfi -i anullsrc=r={sample_rate}:cl=mono -ac {channels} -f s16le {output}'
  const program = { SVC_CAPTURE_ARGS_TEMPLATE: template, SVC_CAPTURE_COMMAND: 'ffmpeg' }
  return { env: { ...program, SVC_ALSA_PROC_ROOT: list } }
}

/** A recorder of the hall, and what is known of it. */
async function recorder(house: House, controller: Controller, roomId: string, { env }: Rig) {
  const { id: nodeId, token } = await controller.enroll('Recorder', { location: { room: 'Hall', site: 'North' } })
  await controller.get(`/nodes/${nodeId}`, 'PATCH', { roomId })
  const joined = { SVC_CONTROLLER_TOKEN: token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: nodeId }
  const settings = { ...joined, ...env, SVC_HEARTBEAT_SECONDS: '1' }
  return {
    nodeId,
    start: (): Program => house.start(['agent'], { cwd: house.path('agent'), env: settings }),
    heard: async () => {
      const since = new Date().toISOString()
      await until('levels of the microphone', async () => {
        const { json, status } = await controller.ask('GET', `/nodes/${nodeId}/meters`)
        return status === 200 && json.data.levels.length > 0 && json.data.capturedAt > since
      })
    },
    /** Until the controller knows that its device is gone, or that it is there. */
    known: (absent: boolean) =>
      until(absent ? 'the device to be gone' : 'the device', async () => {
        const { interfaces }: Node = await controller.get(`/nodes/${nodeId}`)
        return interfaces.some((device) => Boolean(device.absent) === absent)
      }),
  }
}

/** A lecture that begins in so many seconds, and everybody who may or may not hear of what stands against it. */
async function lecture<R extends Rig>(
  t: TestContext,
  rigOf: (t: TestContext, house: House) => Promise<R>,
  { listens, seconds }: { listens: boolean; seconds: number },
) {
  const tls = certificate()
  const { mails, port } = await smtpServer(t, { security: 'starttls', tls })
  const house = await House.open()
  t.after(() => house.close())
  const controller = new Controller(house, {
    ...(listens ? {} : { SVC_FORESIGHT_PREFLIGHT_MINUTES: '0' }),
    SVC_NODE_OFFLINE_AFTER_SECONDS: String(OFFLINE_AFTER),
    SVC_TRUSTED_CA_FILE: tls.ca,
    SVC_WEBHOOK_ALLOW_PRIVATE: '1',
  })
  await (await controller.start()).login()
  const { hooks, rooms } = await receivers(t, controller, port)
  const people = { ann: await person(controller, 'ann', 'North'), bob: await person(controller, 'bob', 'South') }
  // The clock of the machine that tests run on is none of the lecture's.
  await controller.get('/settings/foresight', 'PATCH', { kinds: { unsynced: { enabled: false } } })
  const rig = await rigOf(t, house)
  const box = await recorder(house, controller, rooms.hall, rig)
  const program = box.start()
  const { id: captureInterfaceId } = await controller.online(box.nodeId)
  const { id: scheduleId } = await controller.post('/schedules', {
    ...{ captureChannelSelection: [1, 2], captureInterfaceId, name: 'Lecture', nodeId: box.nodeId, room: 'Hall' },
    ...{ folderTemplate: 'Lectures', titleTemplate: '{{schedule.name}}', timezone: 'UTC' },
    ...{ recordingProfileId: 'voice-mp3-vbr', watchdogPolicyId: 'scheduled-voice-watchdog' },
    recurrence: { durationSeconds: 5400, mode: 'once', startsAt: new Date(Date.now() + seconds * 1000).toISOString() },
  })
  return {
    ...box,
    ...people,
    ...rig,
    controller,
    hooks,
    program,
    rooms,
    scheduleId,
    /** Events of what stands or stood against the lecture, the oldest first. */
    against: async (): Promise<HealthEvent[]> =>
      (await controller.get(`/health-events?scheduleId=${scheduleId}`)).toReversed(),
    /** Resolves when what is known now was looked at. */
    looked: async () => {
      const since = new Date().toISOString()
      await until('a pass', async () => {
        const runners: RunnerReport[] = (await controller.get('/status')).runners
        return (runners.find(({ name }) => name === 'foresight')?.lastRunAt ?? '') > since
      })
    },
    /** Titles of mail about what is foreseen. */
    mailed: (): string[] =>
      mails
        .map(({ headers }) => headers.find(([name]) => name === 'Subject')?.[1] ?? '')
        .filter((title) => [GONE, PREFLIGHT, ...SILENT].some((type) => title.includes(ALERTS[type]!))),
    /** Whom mail went to, whatever it told. */
    readers: () => [...new Set(mails.flatMap(({ to }) => to))],
  }
}
type Lecture = Awaited<ReturnType<typeof lecture>>

/** What is told next, and in how many seconds. */
type Next = (kind: 'opened' | 'resolved', type: string, seconds: number) => Promise<void>

/** Waits until the right people, and they alone, were told once of each thing that happened, in this order. */
function telling(t: TestContext, { against, ann, hooks, mailed, readers }: Lecture): Next {
  const story: string[] = []
  return async (kind, type, seconds) => {
    const since = performance.now()
    story.push(`${kind} ${type}`)
    await until(`'${kind} ${type}' at the hook`, () => hooks('hall').length >= story.length, seconds)
    t.diagnostic(`${kind} ${type} after ${((performance.now() - since) / 1000).toFixed(1)} s`)
    await until(`'${kind} ${type}' in a mail`, () => mailed().length >= story.length)
    assert.deepEqual(hooks('hall'), story)
    assert.deepEqual([...hooks('attic'), ...hooks('south')], [])
    assert.deepEqual(readers(), [ann])
    assert.equal(mailed().length, story.length)
    // A person is told of everything: whichever notices first that a recorder is silent tells it, and the other one does not.
    const alike = type === OFFLINE ? SILENT : [type]
    assert.ok(
      alike.some((one) => mailed().at(-1)!.includes(ALERTS[one]!)),
      mailed().at(-1),
    )
    const standing = (await against()).filter(({ status }) => status !== 'resolved')
    assert.deepEqual(
      standing.map((event) => event.type),
      kind === 'opened' ? [type] : [],
    )
  }
}

/** The others hear of what is theirs: their silence was none of a receiver that hears nothing. */
async function othersHear({ bob, controller, hooks, readers, rooms }: Lecture): Promise<void> {
  const report = async (name: string, site: string, roomId: string) => {
    const { id: nodeId } = await controller.enroll(name, { location: { room: name, site } })
    await controller.get(`/nodes/${nodeId}`, 'PATCH', { roomId })
    await controller.post('/health-events', { nodeId, severity: 'critical', type: 'foresight.tried' })
    await until(`the hook of ${name}`, () => hooks(name).length > 0)
    assert.deepEqual(hooks(name), ['opened foresight.tried'])
  }
  await report('attic', 'North', rooms.attic)
  await report('south', 'South', rooms.south)
  await until("bob's mail", () => readers().includes(bob))
}

describe('minutes before a lecture', { concurrency: true, skip: missingPackages() || NO_SMTPD }, () => {
  test('a microphone is unplugged: those it concerns hear within a minute, and hear when it is well', async (t) => {
    const place = await lecture(t, microphone, { listens: false, seconds: TEN_MINUTES })
    const { against, heard, known, looked, plugIn, unplug } = place
    const next = telling(t, place)
    await heard()
    // A plug that wobbles.
    await unplug()
    await known(true)
    await plugIn()
    await known(false)
    await heard()
    await looked()
    assert.deepEqual(await against(), [])
    const unpluggedAt = Date.now()
    await unplug()
    await next('opened', GONE, MINUTE)
    const gone = (await against())[0]!
    assert.equal(gone.severity, 'critical')
    assert.equal(gone.details.message, 'The device Desk is not connected to Recorder')
    assert.ok(Date.parse(gone.openedAt) - unpluggedAt >= TELL_AFTER_MS, 'the wobble is forgotten')
    await plugIn()
    await next('resolved', GONE, 2 * MINUTE)
    await othersHear(place)
  })

  test('a recorder stops: those it concerns hear within a minute, and hear when it is well', async (t) => {
    const place = await lecture(t, microphone, { listens: false, seconds: TEN_MINUTES })
    const next = telling(t, place)
    await place.heard()
    await place.program.end('SIGTERM')
    await next('opened', OFFLINE, MINUTE + OFFLINE_AFTER)
    place.start()
    await next('resolved', OFFLINE, 2 * MINUTE)
  })

  test('its recorder hears a dead line, and those it concerns are told', async (t) => {
    const place = await lecture(t, deadLine, { listens: true, seconds: 4 * MINUTE })
    await telling(t, place)('opened', PREFLIGHT, MINUTE)
    const told = (await place.against())[0]!
    assert.equal(told.severity, 'critical')
    assert.match(String(told.details.message), /^Channel 1 \(Input 1\): no microphone is heard \(digital silence\)\./)
    const { channels } = await place.controller.get(`/schedules/${place.scheduleId}/preflight`)
    assert.deepEqual(
      channels.map((one: { channelIndex: number; verdict: string }) => [one.channelIndex, one.verdict]),
      [
        [1, 'dead'],
        [2, 'dead'],
      ],
    )
  })
})
