// Mail servers that keep to nothing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emailTransport } from '../../../../src/controller/notifications/transports/email.nodemailer.ts'
import type { EmailOptions } from '../../../../src/wire/notifications.ts'
import { type Conversation, oddServer, polite } from '../../../kit/smtp.ts'
import { base, refusal, sent } from './message.ts'

const SECOND = { setUpMs: 1_000, silenceMs: 1_000, wholeMs: 30_000 }
const PASSWORD = 'hunter2-hunter2-hunter2'

const mailer = (port: number, different: Partial<EmailOptions> = {}, patience = SECOND) => {
  const options: EmailOptions = {
    from: 'alerts@example.org',
    host: '127.0.0.1',
    port,
    security: 'none',
    to: ['ann@example.org', 'bob@example.org'],
    ...different,
  }
  return emailTransport(options, PASSWORD, base(), patience)
}

/** Says something again and again, for as long as somebody is there. */
const drip = (say: (text: string) => void, text: string, everyMs: number) => {
  const timer = setInterval(() => say(text), everyMs)
  timer.unref()
}

const SPEECHLESS: Conversation = () => {}
const SLOW: Conversation = (say) => drip(say, '2', 100)
const ENDLESS: Conversation = (say) => drip(say, `220-${'welcome '.repeat(2_000)}\r\n`, 1)

for (const [what, converse, words] of [
  ['says nothing', SPEECHLESS, /did not greet in time: check port and security/],
  ['greets letter by letter', SLOW, /did not greet in time/],
  ['greets without end', ENDLESS, /broke off: check host, port and security/],
  ['hangs up', (_say, _line, socket) => socket.destroy(), /broke off|closed the connection/],
  ['has no time', polite({ EHLO: '421 4.3.2 too many connections\r\n' }), /broke off \(421 4\.3\.2 too many/],
  ['turns everybody away', (say) => say('554 5.7.1 your address is on a list\r\n'), /broke off \(554 5\.7\.1 your/],
] as [string, Conversation, RegExp][])
  test(`a server that ${what}: tried again`, async (t) => {
    const { port } = await oddServer(t, converse)
    const refused = await refusal(mailer(port))
    assert.match(refused.message, words)
    assert.equal(refused.final, false)
  })

/** Lets its promise wait for ever. */
const silentAt =
  (command: string): Conversation =>
  async (say, line) => {
    say('220 odd\r\n')
    for (let said = await line(); said !== null && said !== command; said = await line()) say(OFFER)
    say('220 go on\r\n')
  }

const OFFER = '250-odd\r\n250 STARTTLS\r\n'
for (const [what, converse] of [
  ['offers no STARTTLS', polite({ STARTTLS: '502 5.5.1 not here\r\n' })],
  ['knows no EHLO', polite({ EHLO: '500 what?\r\n' })],
  ['offers STARTTLS and refuses it', polite({ STARTTLS: '454 4.7.0 no certificate\r\n' }, OFFER)],
  [
    'promises STARTTLS and goes on in plain text',
    polite({ STARTTLS: '220 go on\r\n250-odd\r\n250 AUTH PLAIN\r\n' }, OFFER),
  ],
  ['promises STARTTLS and falls silent', silentAt('STARTTLS')],
  ['answers the handshake in plain text', polite({ STARTTLS: '220 go on\r\n' }, OFFER)],
] as [string, Conversation][])
  test(`a server that ${what} learns nothing when STARTTLS is asked for`, async (t) => {
    const { heard, port } = await oddServer(t, converse)
    const refused = await refusal(mailer(port, { security: 'starttls', username: 'alerts' }))
    assert.match(refused.message, /TLS|broke off/)
    assert.equal(refused.final, false)
    assert.doesNotMatch(heard(), /AUTH|MAIL|RCPT|DATA|Aula|hunter2|aHVudGVyMi/)
  })

test('a server that speaks no TLS is told nothing when TLS is asked for', async (t) => {
  const { heard, port } = await oddServer(t, polite())
  const refused = await refusal(mailer(port, { security: 'tls', username: 'alerts' }))
  assert.match(refused.message, /does not speak TLS as expected: check the port/)
  assert.doesNotMatch(heard(), /AUTH|EHLO|hunter2/)
})

test('a server that hangs up within the message: tried again', async (t) => {
  const drop: Conversation = async (say, line, socket) => {
    say('220 odd\r\n')
    for (let command = await line(); command !== null && command !== 'DATA'; command = await line()) say('250 fine\r\n')
    say('354 go on\r\n')
    await line()
    socket.destroy()
  }
  const { port } = await oddServer(t, drop)
  const refused = await refusal(mailer(port))
  assert.match(refused.message, /broke off|closed the connection/)
  assert.equal(refused.final, false)
})

test('a server that swallows the message and falls silent: tried again', async (t) => {
  const { port } = await oddServer(t, polite({ '.': '' }))
  const refused = await refusal(mailer(port))
  assert.match(refused.message, /fell silent/)
  assert.equal(refused.final, false)
})

test('a server that always has something to say has an end', async (t) => {
  const chatty: Conversation = (say) => {
    say('220 odd\r\n')
    drip(say, '250-more\r\n', 50)
  }
  const { port } = await oddServer(t, chatty)
  const refused = await refusal(mailer(port, {}, { ...SECOND, wholeMs: 1_500 }))
  assert.match(refused.message, /did not take the message within 1\.5 s/)
  assert.equal(refused.final, false)
})

test('whoever asked can end an attempt', async (t) => {
  const ending = new AbortController()
  const { port } = await oddServer(t, (_say, _line, socket) => {
    socket.once('close', () => closed())
    ending.abort()
  })
  const { promise, resolve: closed } = Promise.withResolvers<void>()
  const refused = await refusal(mailer(port, {}, { ...SECOND, setUpMs: 60_000 }), {}, ending.signal)
  assert.match(refused.message, /^the attempt was ended before /)
  assert.equal(refused.final, false)
  await promise
})

test('a sender who is refused is a fault of the channel', async (t) => {
  const { port } = await oddServer(t, polite({ 'MAIL FROM': '550 5.7.1 not your address\r\n' }))
  const refused = await refusal(mailer(port))
  assert.match(refused.message, /refused the sender \(550 5\.7\.1 not your address\): check the sender's address/)
  assert.equal(refused.final, false)
})

const PIPELINING = '250-odd\r\n250 PIPELINING\r\n'
for (const [way, ehlo] of [
  ['one by one', undefined],
  ['all at once', PIPELINING],
] as const)
  test(`recipients who are refused, asked ${way}: the others are served`, async (t) => {
    const one = await oddServer(t, polite({ 'RCPT TO:<bob': '550 5.1.1 no such user\r\n' }, ehlo))
    const { warning } = await sent(mailer(one.port))
    assert.match(warning ?? '', /refused bob@example\.org \(550 5\.1\.1 no such user\)/)
    assert.match(one.heard(), /Subject: Aula 3/)
    const all = await oddServer(t, polite({ DATA: '503 5.5.1 nobody to send to\r\n', RCPT: '550 5.1.1 no\r\n' }, ehlo))
    assert.equal((await refusal(mailer(all.port))).final, true)
    const later = { 'RCPT TO:<ann': '450 4.2.0 later\r\n', 'RCPT TO:<bob': '550 5.1.1 no\r\n' }
    const some = await oddServer(t, polite({ DATA: '503 5.5.1 nobody to send to\r\n', ...later }, ehlo))
    assert.equal((await refusal(mailer(some.port))).final, false)
    assert.doesNotMatch(all.heard() + some.heard(), /Subject/)
  })

test('who wants a login of somebody who is not signed in is a fault of the channel', async (t) => {
  const { port } = await oddServer(t, polite({ RCPT: '530 5.7.0 Authentication required\r\n' }))
  assert.equal((await refusal(mailer(port))).final, false)
})

test('a password that a server says back goes no further', async (t) => {
  const plain = Buffer.from(`\0alerts\0${PASSWORD}`).toString('base64')
  const said = `535 5.7.8 ${PASSWORD} (${plain}) is wrong${' really'.repeat(2_000)}\r\n`
  const { heard, port } = await oddServer(t, polite({ AUTH: said }))
  const refused = await refusal(mailer(port, { username: 'alerts' }))
  assert.match(heard(), new RegExp(plain.slice(0, 20)))
  assert.match(
    refused.message,
    /\(535 5\.7\.8 \[redacted\] \(\[redacted\]\) is wrong really .*check user name and password/,
  )
  assert.ok(refused.message.length <= 300)
  assert.equal(JSON.stringify(refused, Object.getOwnPropertyNames(refused)).includes(PASSWORD), false)
})

test('no server at all', async (t) => {
  const { port } = await oddServer(t, SPEECHLESS)
  assert.match(
    (await refusal(mailer(1))).message,
    /^nothing listens at 127\.0\.0\.1:1: check that the service is running/,
  )
  const unknown = await refusal(mailer(port, { host: 'no-such-host.invalid' }, { ...SECOND, setUpMs: 15_000 }))
  assert.match(unknown.message, /no-such-host\.invalid/)
  assert.equal(unknown.final, false)
})

test('of an answer the code and the first line are told, cleaned; of what is no mail server nothing', async (t) => {
  const many = polite({
    RCPT: '550-5.7.1 not\u001b[31m here\u202e\r\n550-internal: 10.1.2.3\r\n550 5.7.1 see our wiki\r\n',
  })
  const { message } = await refusal(mailer((await oddServer(t, many)).port, { to: ['ann@example.org'] }))
  assert.match(message, /ann@example\.org \(550 5\.7\.1 not \[31m here\)$/)
  const other = await oddServer(t, (say) => say('SSH-2.0-OpenSSH_9.2p1 inner-host\r\n'))
  const refused = await refusal(mailer(other.port))
  assert.doesNotMatch(refused.message, /SSH|inner-host/)
  assert.match(refused.message, /does not answer as a mail server does/)
})
