import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ntfyTransport } from '../../../../src/controller/notifications/transports/ntfy.ts'
import { json, peer } from '../../../kit/peer.ts'
import { base, HOSTILE, message, refusal, sent } from './message.ts'

const TOKEN = 'tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2'

/** Takes what the documentation of ntfy demands of a publication as JSON, and answers as it does. */
async function ntfy(t: TestContext, token?: string) {
  const published: Record<string, unknown>[] = []
  const server = await peer((asked, response) => {
    const fault = faultOf(asked.body)
    if (token !== undefined && asked.headers.authorization !== `Bearer ${token}`)
      return json({ code: 40101, error: 'unauthorized', http: 401 }, 401)(asked, response)
    if (asked.method !== 'POST' || asked.url !== '/' || fault)
      return json({ code: 40000, error: fault ?? 'no such page', http: 400 }, 400)(asked, response)
    published.push(JSON.parse(asked.body))
    json({ event: 'message', id: 'nFS3knfcQ1xe', time: 1 })(asked, response)
  })
  t.after(() => server.close())
  return { published, url: server.url }
}

const FIELDS = ['topic', 'title', 'message', 'priority', 'tags', 'click', 'actions', 'sequence_id']

function faultOf(body: string): string | undefined {
  const said = JSON.parse(body)
  const name = /^[-_A-Za-z0-9]{1,64}$/
  const stranger = Object.keys(said).find((field) => !FIELDS.includes(field))
  if (stranger) return `unknown field ${stranger}`
  if (!name.test(said.topic)) return 'topic invalid'
  if (said.sequence_id !== undefined && !name.test(said.sequence_id)) return 'sequence ID invalid'
  if (typeof said.message !== 'string' || said.message === '') return 'message is replaced by "triggered"'
  if (Buffer.byteLength(said.message) > 4_096) return 'message becomes an attachment'
  if (![1, 2, 3, 4, 5].includes(said.priority)) return 'priority invalid'
  if (!Array.isArray(said.tags) || said.tags.some((tag: unknown) => typeof tag !== 'string')) return 'tags invalid'
  if (said.click !== undefined && !URL.canParse(said.click)) return 'click invalid'
  const actions = said.actions ?? []
  if (actions.length > 3) return 'too many actions'
  return actions.some(
    (one: Record<string, string>) => one.action !== 'view' || !one.label || !URL.canParse(one.url ?? ''),
  )
    ? 'action invalid'
    : undefined
}

test('a message is published with its priority, its page and a button that opens one', async (t) => {
  const { published, url } = await ntfy(t, TOKEN)
  await sent(ntfyTransport({ topic: 'roomtone-alerts', url }, TOKEN, base()))
  assert.deepEqual(published, [
    {
      actions: [{ action: 'view', label: 'Acknowledge', url: message().acknowledgeUrl }],
      click: message().url,
      message: `${message().paragraphs.join('\n\n')}\n\n${message()
        .facts.map((fact) => fact.join(': '))
        .join('\n')}`,
      priority: 5,
      sequence_id: 'health-0196a3c4',
      tags: ['rotating_light'],
      title: 'Aula 3: the microphone is silent',
      topic: 'roomtone-alerts',
    },
  ])
})

test('the resolution takes the place of the event, quietly', async (t) => {
  const { published, url } = await ntfy(t)
  const channel = ntfyTransport({ topic: 't', url }, undefined, base())
  for (const severity of ['info', 'warning', 'critical'] as const) await sent(channel, { severity })
  await sent(channel, { acknowledgeUrl: undefined, kind: 'resolved', opens: false })
  await sent(channel, { conversation: undefined, kind: 'report', severity: 'info', url: undefined })
  assert.deepEqual(
    published.map(({ priority, sequence_id, tags }) => [priority, sequence_id, ...(tags as string[])]),
    [
      [3, 'health-0196a3c4', 'information_source'],
      [4, 'health-0196a3c4', 'warning'],
      [5, 'health-0196a3c4', 'rotating_light'],
      [3, 'health-0196a3c4', 'white_check_mark'],
      [3, undefined, 'information_source'],
    ],
  )
  assert.deepEqual([published[3]?.actions, published[4]?.click], [undefined, undefined])
})

test('names of any kind and length make a message that ntfy takes', async (t) => {
  const { published, url } = await ntfy(t)
  const channel = ntfyTransport({ topic: 't', url }, undefined, base())
  for (const name of HOSTILE) {
    const facts = Array.from({ length: 100 }, (): [string, string] => [name, name])
    await sent(channel, { conversation: name, facts, paragraphs: Array(100).fill(name), title: name })
  }
  await sent(channel, { facts: [], paragraphs: [], title: '\r\n' })
  assert.equal(published.length, HOSTILE.length + 1)
  for (const { title } of published) assert.match(String(title), /^[^\r\n\u2028\u202e\0]{1,150}$/)
})

test('a token that is refused, and what is no token or topic', async (t) => {
  const { published, url } = await ntfy(t, TOKEN)
  const refused = await refusal(ntfyTransport({ topic: 't', url }, 'tk_wrong', base()))
  assert.match(refused.message, /answered 401: check the address and the secret of the channel$/)
  assert.equal(refused.final, true)
  for (const [topic, token] of [
    ['a b', TOKEN],
    ['', TOKEN],
    ['t', `${TOKEN}\r\nx: y`],
    ['t', 'tökén'],
  ] as const)
    assert.match((await refusal(ntfyTransport({ topic, url }, token, base()))).message, /^the (topic|access token) has/)
  assert.deepEqual(published, [])
})

test('the rules for addresses are those of webhooks', async (t) => {
  const { published, url } = await ntfy(t)
  const refused = await refusal(ntfyTransport({ topic: 't', url }, undefined, base({ allowPrivate: false })))
  assert.match(refused.message, /is no public address/)
  assert.deepEqual(published, [])
})
