// Channels, rules and messages as the console shows them.
import assert from 'node:assert/strict'
import { randomFillSync } from 'node:crypto'
import { test } from 'node:test'
import { CHANNELS, reaches, rulesOf, signingKey, USUAL } from '../../src/console/notifications/channels.rules.ts'
import {
  type Draft,
  draftOf,
  FAMILIES,
  familyOf,
  previewOf,
  ruleOf,
  suggested,
} from '../../src/console/notifications/rules.rules.ts'
import { saidText } from '../../src/console/ui/fault.rules.ts'
import { bodyOf, type Entered, namesOf } from '../../src/console/ui/form.rules.ts'
import { shaped } from '../../src/console/words/de/shaped.ts'
import { de } from '../../src/console/words/de.ts'
import { en } from '../../src/console/words/en.ts'
import { patternFault, siteFault } from '../../src/controller/notifications/rules.rules.ts'
import * as faults from '../../src/controller/notifications/transports/channel.rules.ts'
import { verdictOf, warningOf } from '../../src/controller/notifications/transports/email.rules.ts'
import { tlsFault } from '../../src/controller/notifications/transports/faults.ts'
import { webhookTransport } from '../../src/controller/notifications/transports/webhook.ts'
import { systemWords } from '../../src/kernel/words.ts'
import { ALERTS } from '../../src/wire/alerts.en.ts'
import {
  ChannelInput,
  type NotificationChannel,
  type NotificationRule,
  RuleInput,
  RulePreviewRequest,
} from '../../src/wire/notifications.ts'
import { base, refusal } from '../controller/notifications/transports/message.ts'
import { peer } from '../kit/peer.ts'

const EVERYWHERE = { nodeIds: [], roomIds: [], siteNames: [] }
const RULE: NotificationRule = {
  channelId: 'channel_1',
  enabled: true,
  id: 'rule_1',
  includeResolved: false,
  minSeverity: 'critical',
  name: 'At night',
  throttleSeconds: 90,
  types: ['watchdog.*', 'room.remark'],
}

test('a form of a rule holds what the rule says, and says it again', () => {
  const full: NotificationRule = {
    ...RULE,
    dailyReport: { time: '06:30', timezone: 'Europe/Berlin' },
    escalateAfterSeconds: 600,
    escalateChannelId: 'channel_2',
    nodeIds: ['node_1'],
    quietHours: { exceptSeverity: 'warning', from: '20:00', timezone: 'UTC', to: '06:00' },
    roomIds: ['room_1'],
    siteNames: ['North'],
  }
  for (const rule of [RULE, full]) {
    const {
      id,
      nodeIds = [],
      roomIds = [],
      siteNames = [],
      ...draft
    } = draftOf(rule, 'UTC') as Draft & NotificationRule
    assert.equal(id, rule.id)
    const said = RuleInput.parse(ruleOf(draft, { nodeIds, roomIds, siteNames }))
    const kept = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null))
    assert.deepEqual({ ...kept, id }, rule)
  }
  assert.deepEqual([draftOf(RULE, 'UTC').throttleSeconds, draftOf(full, 'UTC').escalateAfterSeconds], [1.5, 10])
})

test('a new rule tells of everything that matters; what is not chosen is taken away', () => {
  const draft = { ...draftOf(undefined, 'Europe/Berlin'), channelId: 'channel_1', name: 'All' }
  const rule = RuleInput.parse(ruleOf(draft, EVERYWHERE))
  assert.deepEqual(rule, {
    ...{ channelId: 'channel_1', dailyReport: null, enabled: true, escalateAfterSeconds: null },
    ...{ escalateChannelId: null, includeResolved: true, minSeverity: 'warning', name: 'All', nodeIds: null },
    ...{ quietHours: null, roomIds: null, siteNames: null, throttleSeconds: 300, types: ['*'] },
  })
  const daily = RuleInput.parse(ruleOf({ ...draft, daily: true, quiet: true }, EVERYWHERE))
  assert.equal(daily.dailyReport?.timezone, 'Europe/Berlin')
  assert.equal(daily.quietHours?.exceptSeverity, 'critical')
})

test('a preview asks for what decides how much is told, and for nothing while nothing is chosen', () => {
  const draft: Draft = { all: false, escalateChannelId: 'x', minSeverity: 'info', name: 'Any', throttleSeconds: 2 }
  assert.equal(previewOf(draft, EVERYWHERE), undefined)
  assert.equal(previewOf({ ...draft, all: true, minSeverity: undefined } as unknown as Draft, EVERYWHERE), undefined)
  const asked = previewOf({ ...draft, family: { agent: true }, types: ['room.*'] }, { ...EVERYWHERE, siteNames: ['N'] })
  assert.deepEqual(RulePreviewRequest.parse(asked), {
    ...{ minSeverity: 'info', nodeIds: null, roomIds: null, siteNames: ['N'], throttleSeconds: 120 },
    types: ['agent.*', 'room.*'],
  })
})

test('a list of types goes on with one that is not in it', () => {
  const texts = (typed: string[]) => suggested(typed).map(({ text }) => text)
  assert.ok(texts([]).includes('watchdog.flatline'))
  assert.ok(texts(['watchdog.flat']).includes('watchdog.flatline'))
  const more = texts(['watchdog.flatline', 'watch'])
  assert.ok(more.includes('watchdog.flatline, watchdog.clipping'))
  assert.equal(more.includes('watchdog.flatline, watchdog.flatline'), false)
  assert.deepEqual(texts(['watchdog.flatline']), more)
})

test('what is wrong with a type or a site of a rule is told in German, with what may have been meant', () => {
  assert.deepEqual(
    ruleFaults().map((sentence) => saidText(sentence, de)),
    [
      'Keine Meldung hat die Art watchdog.flatlin. Meinten Sie watchdog.flatline?',
      'Keine Meldung hat eine Art wie room.*.',
      'Kein Raum und kein Rekorder ist am Standort Nort. Meinten Sie North?',
    ],
  )
})

test('what is wrong with one of a list stands at the field of the list', () => {
  assert.deepEqual(namesOf(['types', 2]), ['types', 'types.2'])
  assert.deepEqual(namesOf(['quietHours', 'to']), ['quietHours.to'])
  assert.deepEqual(namesOf(['entries', 0, 'label']), ['entries.0.label'])
})

test('every kind of alert there is belongs to a family that a form offers', () => {
  const families = new Set(Object.keys(ALERTS).map((type) => `${type.split('.')[0]}.*`))
  assert.deepEqual(
    [...families].filter((pattern) => !familyOf(pattern)),
    [],
  )
  assert.equal(familyOf('agent.meter.*'), undefined)
})

test('a preview is told in words, with its numbers', () => {
  const told = (words: typeof en, messages: number, events: number, isLowerBound?: true) =>
    words.notifications.preview({ days: 30, events, messages, ...(isLowerBound ? { isLowerBound } : {}) })
  assert.equal(told(en, 14, 20), 'In the last 30 days this would have sent 14 messages about 20 alerts.')
  assert.equal(told(en, 1, 1, true), 'In the last 30 days this would have sent at least 1 message about 1 alert.')
  assert.equal(told(en, 0, 0), 'In the last 30 days this would have sent nothing.')
  assert.match(told(de, 1, 2), /^In den letzten 30 Tagen wäre so 1 Nachricht zu 2 Meldungen gesendet worden\.$/)
})

test('forms of channels ask for every option of their kind, in words of each language', () => {
  const shape = ChannelInput.shape as unknown as Record<string, { unwrap(): { shape: Record<string, unknown> } }>
  for (const kind of ['email', 'webhook', 'ntfy'] as const) {
    const asked = CHANNELS.fields.filter(({ name, when }) => when?.[1] === kind && name.startsWith(`${kind}.`))
    const options = Object.keys(shape[kind]?.unwrap().shape ?? {})
    assert.deepEqual(asked.map(({ name }) => name.slice(kind.length + 1)).sort(), options.sort())
  }
  for (const { locale, settings } of [en, de]) {
    const missing = [
      ...CHANNELS.fields
        .filter(({ name, word = name }) => !settings.fields[word] && !settings.fields[name.split('.').at(-1) ?? ''])
        .map(({ name }) => name),
      ...CHANNELS.fields.flatMap(({ of = [] }) => of).filter((value) => !settings.values[value]),
      ...Object.keys(settings.hints).filter((hint) => !CHANNELS.fields.some(({ name, word = name }) => word === hint)),
    ]
    assert.deepEqual(missing, [], locale)
  }
  assert.deepEqual(USUAL.email, { port: 587, security: 'starttls' })
})

test('what a form of a channel sends with only what it needs is a channel', () => {
  for (const kind of ['email', 'webhook', 'ntfy'] as const) {
    const values: Record<string, string> = {
      ...{ 'email.from': 'a@example.org', 'email.host': 'mail.example.org', 'email.port': '587' },
      ...{ 'email.security': 'starttls', 'email.to': 'a@example.org, b@example.org', kind, name: 'Any' },
      ...{ 'ntfy.topic': 'rooms', 'ntfy.url': 'https://ntfy.sh', 'webhook.url': 'https://example.org/hook' },
    }
    const entered = CHANNELS.fields
      .filter(({ when }) => when === undefined || when[1] === kind)
      .map((spec): Entered => {
        const sort = { list: 'list', number: 'number', tick: 'checkbox' }[spec.kind as string] ?? 'text'
        const value = values[spec.name] ?? ''
        return { checked: false, empty: spec.empty ?? 'omit', kind: sort as Entered['kind'], name: spec.name, value }
      })
    const body = ChannelInput.parse(bodyOf(entered))
    assert.deepEqual(Object.keys(body[kind] ?? {}).includes('url'), kind !== 'email')
    assert.equal(body.secret, undefined)
  }
})

test('a key that is made here is one that webhooks are signed with', () => {
  const key = signingKey((bytes) => randomFillSync(bytes))
  assert.equal(faults.signingKey(key)?.length, 32)
  assert.notEqual(
    signingKey((bytes) => randomFillSync(bytes)),
    key,
  )
})

test('the rules of a channel are those that tell by it in either case', () => {
  const rules = [RULE, { ...RULE, channelId: 'channel_2', escalateChannelId: 'channel_1', name: 'Later' }]
  assert.deepEqual(rulesOf('channel_1', rules), ['At night', 'Later'])
  assert.deepEqual(rulesOf('channel_2', rules), ['Later'])
  const mail = { email: { to: [] as string[] }, kind: 'email' } as unknown as NotificationChannel
  assert.deepEqual([reaches(mail), reaches({ ...mail, kind: 'ntfy' })], [false, true])
})

function ruleFaults(): string[] {
  const types = Object.keys(ALERTS)
  const faults = [patternFault('watchdog.flatlin', types), patternFault('room.*', types), siteFault('Nort', ['North'])]
  return faults.map((sentence) => sentence ?? '')
}

const AT = 'mail.example.org:587'
const mailFaults = (): string[] => {
  const said = (fault: object) => verdictOf({ message: 'it broke', response: '550 no', ...fault }, AT, []).words
  return [
    ...['EAUTH', 'ETLS'].map((code) => said({ code })),
    ...['CONNECT_TIMEOUT', 'GREETING_TIMEOUT', 'UPGRADE_TIMEOUT', ''].map((timeoutType) =>
      said({ code: 'ETIMEDOUT', timeoutType }),
    ),
    said({ command: 'RCPT TO', rejectedErrors: [{ recipient: 'ann@example.org', response: '550 no' }] }),
    said({ code: 'EENVELOPE', command: 'MAIL FROM' }),
    said({ command: 'DATA' }),
    said({}),
    warningOf([{ recipient: 'ann@example.org' }], AT, []) ?? '',
    `the mail server ${AT} did not take the message within 60 s: check its log`,
    `the attempt was ended before the mail server ${AT} had taken the message`,
  ]
}

const networkFaults = (): string[] => {
  const failed = (code: string) => Object.assign(new Error('failed'), { code })
  const system = ['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL']
  const tls = ['SELF_SIGNED_CERT_IN_CHAIN', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'EPROTO']
  return [
    ...system.map((code) => systemWords(failed(code), AT) ?? code),
    ...tls.map((code) => tlsFault(failed(code), AT) ?? code),
  ]
}

function channelFaults(): string[] {
  const mail = { from: 'a@example.org', host: 'mail.example.org', port: 25, to: ['a@example.org'] }
  return [
    faults.emailFault({ ...mail, security: 'none', to: [] }),
    faults.emailFault({ ...mail, security: 'none', username: 'ann' }, 'x'),
    faults.emailFault({ ...mail, security: 'tls', username: 'ann' }),
    faults.ntfyFault({ topic: 'rooms', url: 'https://ntfy.sh' }, 'two words'),
    faults.ntfyFault({ topic: 'no topic', url: 'https://ntfy.sh' }),
    faults.webhookFault({ url: 'https://hooks.example' }, 'whsec_short'),
    faults.webhookFault({ url: 'ftp://hooks.example' }),
    'host and port changed: enter the secret again',
    'the receiver did not answer within 15 s',
    'hooks.example: no whole answer within 10 s',
    'the attempt was cancelled before hooks.example answered',
    'hooks.example could not be asked: check address and secret',
  ].map((sentence) => sentence ?? '')
}

async function receiverFaults(): Promise<string[]> {
  const receiver = await peer((_, response) => void response.writeHead(204).end())
  const { port, url } = receiver
  const fault = async (more: object = {}) => (await refusal(webhookTransport({ url }, undefined, base(more)))).message
  const found: string[] = []
  for (const [status, headers] of [[410], [302], [302, { location: 'https://b.example/x' }], [503], [404]] as const) {
    receiver.answers((_, response) => void response.writeHead(status, headers).end())
    found.push(await fault())
  }
  found.push(await fault({ allowPrivate: false }), await fault({ own: { origins: [], port } }))
  await receiver.close()
  return [...found, await fault()]
}

test('what the controller says of deliveries is told in German, with its names and numbers', async () => {
  const sentences = [
    ...mailFaults(),
    ...networkFaults(),
    ...channelFaults(),
    ...ruleFaults(),
    ...(await receiverFaults()),
  ]
  for (const sentence of sentences) {
    const told = saidText(sentence, de)
    assert.notEqual(told, sentence)
    assert.doesNotMatch(told.replace('it broke', ''), /\b(the|check|answered|and|undefined)\b/, sentence)
    for (const place of sentence.match(/[\w.]+:\d+/g) ?? []) assert.ok(told.includes(place), told)
    assert.equal(saidText(sentence, en), sentence)
  }
  assert.deepEqual(
    shaped.map(([shape]) => shape).filter((shape) => !sentences.some((sentence) => shape.test(sentence))),
    [],
  )
  for (const family of FAMILIES) assert.ok(de.notifications.families[family].what)
})
