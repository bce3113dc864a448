// A real Prometheus asks the built controller of a fleet at work: every rule and every panel finds what it asks for.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, before, describe, test } from 'node:test'
import * as tls from 'node:tls'
import { parse } from 'yaml'
import { hostOf } from '../../src/system/tls/names.ts'
import { initSite, siteFiles } from '../../src/system/tls/site.ts'
import type { Node } from '../../src/wire/nodes.ts'
import { type Sending, send } from '../controller/monitoring/listen/chunks.ts'
import { frame, level, quality } from '../controller/monitoring/meters/frames.ts'
import { noPrometheus, Prometheus, promtool } from '../kit/prometheus.ts'
import { Agent, Controller, House, until } from '../kit/whole.ts'
import { dashboards, filledIn, PROMETHEUS, rules } from './dashboards.ts'

const TOKEN = 'a-token-for-the-scraper-0123456789'
const PLACE = { room: 'Great Hall', site: 'North' }

describe('a fleet that is scraped', { skip: noPrometheus }, () => {
  let house: House
  let controller: Controller
  let prometheus: Prometheus
  let metered: Metered
  before(async () => {
    house = await House.open()
    initSite(house.path('tls'), [hostOf('localhost')!], [], 10, Date.now())
    const { ca, cert, key } = siteFiles(house.path('tls'))
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), fs.readFileSync(ca, 'utf8')])
    const env = {
      SVC_API_TLS_CERT_PATH: cert,
      SVC_API_TLS_KEY_PATH: key,
      SVC_METRICS_TOKEN: TOKEN,
      SVC_NODE_OFFLINE_AFTER_SECONDS: '5',
      SVC_UPLOAD_RUNNER_INTERVAL_SECONDS: '1',
      SVC_WATCHDOG_RUNNER_INTERVAL_SECONDS: '1',
    }
    controller = await new Controller(house, env).start()
    const url = controller.url.replace('127.0.0.1', 'localhost')
    await controller.at(url).login()
    await addRecorder(house, controller, ca)
    metered = await Metered.add(controller)
    const away = await controller.enroll('Left recorder')
    await beat(controller, away)
    fs.writeFileSync(house.path('token'), TOKEN)
    prometheus = await Prometheus.start(house.path('prometheus'), configuration(house, url, ca))
    const state = (status: string) => prometheus.query(`svc_node_online{status="${status}"}`)
    await until('everything to happen that is told of', async () => {
      await metered.tell()
      await fetch(`${url}/metrics`) // a stranger, who is refused
      const failed = await prometheus.query('svc_upload_failures_total > 0')
      const gone = await prometheus.query('svc_health_events_standing{event_type="watchdog.node_offline"}')
      const refused = await prometheus.query('rate(svc_audit_events_total{outcome="denied"}[1m])')
      return failed.length && gone.length && refused.length && (await state('offline')).length
    })
  })
  after(async () => {
    await prometheus?.stop()
    await house?.close()
  })

  test('what it exposes follows the conventions of Prometheus, and has no sample without a value', async () => {
    const { text } = await metrics(controller)
    assert.equal(promtool(['check', 'metrics'], text), '')
    assert.ok(!/ nan$/im.test(text))
  })

  test('every rule is evaluated without a fault, over metrics that are there', async () => {
    await until('Prometheus to have evaluated every rule', async () => {
      await metered.tell()
      const { groups } = await prometheus.rules()
      const all = groups.flatMap((group) => group.rules)
      assert.deepEqual(
        all.filter(({ health }) => health === 'err').map(({ lastError, name }) => `${name}: ${lastError}`),
        [],
      )
      return all.length === rules().length && all.every(({ health }) => health === 'ok')
    })
    const asked = rules().flatMap(({ expr }) => namesIn(expr))
    assert.ok(asked.length > 30)
    for (const name of new Set(asked)) assert.ok((await prometheus.series(name)).length > 0, `${name} has no series`)
  })

  test('the recorder that left is told of by the rule for it, with its place', async () => {
    const alert = rules().find((rule) => rule.alert === 'RoomtoneRecorderOffline')
    const [found, ...more] = await prometheus.query(alert?.expr ?? '')
    assert.deepEqual([found?.metric.alias, found?.metric.room, more], ['Left recorder', 'Hall', []])
    const placed = await prometheus.query('roomtone:health_events:placed{event_type="watchdog.node_offline"}')
    assert.deepEqual(
      placed.map(({ metric }) => metric.alias),
      ['Left recorder'],
    )
  })

  for (const { file, panels, templating } of dashboards())
    test(`every panel and every variable of ${file} finds something`, async () => {
      await metered.tell()
      const values = { instance: '.*', node: metered.id, room: PLACE.room, site: PLACE.site }
      // A rate needs two scrapes of what there is, and a garbage collection needs garbage.
      for (const { targets = [], title } of panels)
        for (const { expr } of targets)
          await until(`${title} to find something: ${expr}`, async () => {
            await metered.tell()
            return (await prometheus.query(filledIn(expr, values))).length > 0
          })
      for (const { query, regex, type } of templating.list)
        if (type === 'query') await offers(prometheus, filledIn((query as { query: string }).query, values), regex)
    })
})

/** As our example has it, once a second, of this controller. */
function configuration(house: House, url: string, ca: string): object {
  const {
    scrape_configs: [scrape],
    ...rest
  } = parse(fs.readFileSync(path.join(PROMETHEUS, 'prometheus.yml'), 'utf8'))
  return {
    ...rest,
    global: { evaluation_interval: '1s', scrape_interval: '1s' },
    rule_files: [path.join(PROMETHEUS, 'roomtone.rules.yml')],
    scrape_configs: [
      {
        ...scrape,
        authorization: { credentials_file: house.path('token') },
        static_configs: [{ targets: [new URL(url).host] }],
        tls_config: { ca_file: ca },
      },
    ],
  }
}

async function metrics(controller: Controller): Promise<{ text: string }> {
  const answer = await fetch(`${controller.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  assert.equal(answer.status, 200)
  return { text: await answer.text() }
}

/** The real recorder: it delivered one take, which cannot be uploaded anywhere, and makes another. */
async function addRecorder(house: House, controller: Controller, ca: string): Promise<void> {
  const node = await controller.enroll('Real recorder')
  const own = { SVC_CONTROLLER_TOKEN: node.token, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: node.id }
  new Agent(house, { ...own, SVC_CONTROLLER_CA_CERT_PATH: ca, SVC_HEARTBEAT_SECONDS: '1' }).start()
  await controller.online(node.id)
  const policies = [await nowhere(controller, 'Archive', 1), await nowhere(controller, 'Off site', 5)]
  const profile = await controller.plainProfile('flac')
  const { job, recording } = await controller.record(node.id, profile, 2, { uploadPolicyIds: policies })
  await controller.delivered(recording.id, job.id)
  await controller.record(node.id, profile, 600)
}

/** A policy for a destination where nobody listens. */
async function nowhere(controller: Controller, displayName: string, maxAttempts: number): Promise<string> {
  const s3 = { accessKeyId: 'k', bucket: 'takes', endpoint: 'http://127.0.0.1:9', forcePathStyle: true, region: 'x' }
  const { id } = await controller.post('/settings/upload-destinations', {
    ...{ displayName, enabled: true, kind: 's3', s3, s3SecretAccessKey: 'secret-of-the-bucket' },
  })
  const policy = { destinationId: id, enabled: true, maxAttempts, name: displayName, trigger: 'on_recording_cached' }
  return (await controller.post('/settings/upload-policies', policy)).id
}

type Enrolled = { id: string; token: string }

async function beat(controller: Controller, { id, token }: Enrolled): Promise<void> {
  const { status } = await controller.ask(
    'POST',
    `/nodes/${id}/heartbeat`,
    { agentVersion: '0.1.0', hostname: 'box' },
    token,
  )
  assert.equal(status, 202)
}

/** A recorder that is played here: it tells of levels, which the test source of a real one does not. */
class Metered {
  readonly #controller: Controller
  readonly #node: Node
  readonly #token: string
  #chunks = 0

  private constructor(controller: Controller, node: Node, token: string) {
    this.#controller = controller
    this.#node = node
    this.#token = token
  }

  get id(): string {
    return this.#node.id
  }

  /** In the Great Hall, with a take under way and an event that stands. */
  static async add(controller: Controller): Promise<Metered> {
    const device = { alias: 'Desk', backend: 'alsa', channelCount: 2, sampleRates: [48000], systemName: 'USB Desk' }
    const { credential, node } = await controller.post('/nodes/enroll', {
      ...{ alias: 'Metered recorder', hostname: 'metered', location: PLACE },
      interfaces: [{ ...device, systemRef: 'hw:CARD=Desk,DEV=0' }],
    })
    const metered = new Metered(controller, node, credential.token)
    await metered.tell()
    await controller.record(node.id, await controller.plainProfile('wav'), 600)
    const claim = `/nodes/${node.id}/recording-jobs/claim-next`
    assert.equal((await controller.ask('POST', claim, {}, credential.token)).status, 200)
    await controller.post('/health-events', { nodeId: node.id, severity: 'warning', type: 'room.noise' })
    await controller.post(`/nodes/${node.id}/listen`)
    return metered
  }

  /** That it is there, what comes in, and what somebody hears of it. */
  async tell(): Promise<void> {
    const { id } = this
    await beat(this.#controller, { id, token: this.#token })
    const correlated = {
      ...quality(1),
      channelCorrelation: { peerChannelIndex: 2, phase: 'same' as const, score: 0.9 },
    }
    const levels = [level(1, { quality: correlated }), level(2)]
    const sent = frame(id, this.#node.interfaces[0]!.id, 2, { capturedAt: new Date().toISOString(), levels })
    const { status } = await this.#controller.ask('POST', `/nodes/${id}/meter-frame`, sent, this.#token)
    assert.equal(status, 202)
    await this.#hear()
  }

  async #hear(): Promise<void> {
    const sending: Sending = { capturedAt: new Date().toISOString() }
    const post = async (route: string, body: unknown, headers = {}) => {
      const bearer = { authorization: `Bearer ${this.#token}` }
      const url = `${this.#controller.url}/api/v1${route}`
      const answer = await fetch(url, { body: body as Uint8Array, headers: { ...bearer, ...headers }, method: 'POST' })
      return { status: answer.status }
    }
    const { status } = await send({ post } as never, this.id, ++this.#chunks, sending)
    assert.equal(status, 202)
  }
}

/** Names of the metrics in an expression, those of recording rules among them. */
const namesIn = (expr: string): string[] => expr.match(/\b(svc_\w+|nodejs_\w+|roomtone:[\w:]+|up(?=\{))/g) ?? []

/** What a variable of a dashboard has to choose from. */
async function offers(prometheus: Prometheus, query: string, regex: string): Promise<void> {
  const [, selector, label] = /^label_values\((.+), (\w+)\)$/.exec(query) ?? []
  if (selector && label) {
    const series = await prometheus.series(selector)
    assert.ok(
      series.some((one) => one[label]),
      query,
    )
    return
  }
  const [, expr = ''] = /^query_result\((.+)\)$/.exec(query) ?? []
  const found = await prometheus.query(expr)
  const shown = found.map(({ metric }) =>
    Object.entries(metric)
      .map(([name, value]) => `${name}="${value}"`)
      .join(','),
  )
  assert.ok(shown.length > 0 && shown.every((text) => new RegExp(regex.slice(1, -1)).test(text)), `${query} ${regex}`)
}
