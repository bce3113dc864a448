import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emailTransport } from '../../../../src/controller/notifications/transports/email.nodemailer.ts'
import { secureContext } from '../../../../src/system/host/trust.ts'
import type { EmailOptions } from '../../../../src/wire/notifications.ts'
import { certificate, type Mail, NO_SMTPD, smtpServer } from '../../../kit/smtp.ts'
import { base, HOSTILE, refusal, sent } from './message.ts'

const PASSWORD = 'pass "word"; with ümlaut'
const LOGIN = { password: PASSWORD, username: 'alerts@example.org' }
const ours = certificate()
const trusting = base({}, secureContext({ alsoFile: ours.ca }))

const options = (port: number, different: Partial<EmailOptions> = {}): EmailOptions => ({
  from: 'Roomtone <alerts@example.org>',
  host: '127.0.0.1',
  port,
  security: 'none',
  to: ['ann@example.org'],
  ...different,
})

const all = ({ headers }: Mail, name: string): string[] =>
  headers.filter(([one]) => one.toLowerCase() === name.toLowerCase()).map(([, value]) => value)

test('over STARTTLS with a login: both texts arrive, and say that nobody wrote them', { skip: NO_SMTPD }, async (t) => {
  const { mails, port } = await smtpServer(t, { login: LOGIN, security: 'starttls', tls: ours })
  const how = options(port, { host: 'localhost', security: 'starttls', username: LOGIN.username })
  assert.deepEqual(await sent(emailTransport(how, PASSWORD, trusting)), {})
  const [mail] = mails as [Mail]
  assert.deepEqual([mail.encrypted, mail.user], [true, LOGIN.username])
  assert.deepEqual([mail.from, mail.to], ['alerts@example.org', ['ann@example.org']])
  assert.deepEqual(all(mail, 'Subject'), ['Aula 3: the microphone is silent'])
  assert.deepEqual(all(mail, 'From'), ['Roomtone <alerts@example.org>'])
  assert.deepEqual(all(mail, 'Auto-Submitted'), ['auto-generated'])
  assert.deepEqual(all(mail, 'X-Auto-Response-Suppress'), ['All'])
  assert.deepEqual(all(mail, 'Date'), ['Thu, 26 Nov 2026 06:30:00 +0000'])
  assert.deepEqual(all(mail, 'Importance'), ['High'])
  assert.match(mail.text, /^Aula 3: the microphone is silent\n\[Critical\]\n/)
  assert.match(mail.text, /\nhttps:\/\/roomtone\.example\.org\/a\/4f9d2c8b7a6e5d4c3b2a190817263544\n/)
  assert.match(mail.html, /<h1 [^>]*>Aula 3: the microphone is silent<\/h1>/)
})

test('over TLS from the first byte', { skip: NO_SMTPD }, async (t) => {
  const { mails, port } = await smtpServer(t, { login: LOGIN, security: 'tls', tls: ours })
  const how = options(port, { security: 'tls', username: LOGIN.username })
  assert.deepEqual(await sent(emailTransport(how, PASSWORD, trusting)), {})
  assert.deepEqual([mails[0]?.encrypted, mails[0]?.user], [true, LOGIN.username])
})

test('a password goes over TLS, or to a mail server on this machine', { skip: NO_SMTPD }, async (t) => {
  const { mails, port } = await smtpServer(t, { login: LOGIN, security: 'none' })
  const how = options(port, { username: LOGIN.username })
  await sent(emailTransport(how, PASSWORD, base()))
  assert.equal(mails[0]?.user, LOGIN.username)
  const away = await refusal(emailTransport({ ...how, host: 'mail.example.org' }, PASSWORD, base()))
  assert.match(away.message, /the password would go over the network readable: choose STARTTLS or TLS/)
  assert.equal(away.final, false)
})

test('the messages of a conversation are one thread, and keep their ids', { skip: NO_SMTPD }, async (t) => {
  const { mails, port } = await smtpServer(t, { security: 'none' })
  const mailer = emailTransport(options(port), undefined, base())
  await sent(mailer)
  await sent(mailer)
  await sent(mailer, { id: 'the-end', kind: 'resolved', opens: false })
  await sent(mailer, { conversation: undefined, id: 'report-1', kind: 'report' })
  assert.deepEqual(
    mails.map((mail) => ['Message-ID', 'In-Reply-To', 'References'].flatMap((name) => all(mail, name))),
    [
      ['<health-0196a3c4@example.org>'],
      ['<health-0196a3c4@example.org>'],
      ['<the-end@example.org>', '<health-0196a3c4@example.org>', '<health-0196a3c4@example.org>'],
      ['<report-1@example.org>'],
    ],
  )
})

test('names put nothing into the header, and have an end', { skip: NO_SMTPD }, async (t) => {
  const { mails, port } = await smtpServer(t, { security: 'none' })
  const mailer = emailTransport(options(port), undefined, base())
  await sent(mailer)
  const names = mails[0]?.headers.map(([name]) => name)
  for (const name of HOSTILE) {
    const facts = [[name, name]] as [string, string][]
    await sent(mailer, { conversation: name, facts, id: name, opens: false, paragraphs: [name], title: name })
    const mail = mails.at(-1) as Mail
    assert.deepEqual(mail.to, ['ann@example.org'])
    assert.deepEqual(
      mail.headers.map(([one]) => one),
      [...(names ?? []).slice(0, 4), 'In-Reply-To', 'References', ...(names ?? []).slice(4)],
    )
    assert.ok((all(mail, 'Subject')[0] ?? '').length <= 150, name)
    assert.ok(mail.raw.length < 60_000, `${mail.raw.length}`)
    for (const line of mail.raw.split('\r\n')) assert.ok(line.length <= 998 && !line.includes('\n'), line)
    assert.doesNotMatch(mail.html, /<script|<img|evil\.example">|\u202e/)
  }
})

test('certificates have to be signed by a known authority, and in time', { skip: NO_SMTPD }, async (t) => {
  const late = certificate(Date.now() - 40 * 86_400_000)
  const trustingBoth = base({}, secureContext({ alsoFile: late.ca }))
  for (const security of ['starttls', 'tls'] as const) {
    const current = await smtpServer(t, { security, tls: ours })
    const stranger = await refusal(emailTransport(options(current.port, { security }), undefined, base()))
    assert.match(stranger.message, /no authority this controller trusts has signed .* SVC_TRUSTED_CA_FILE$/)
    const old = await smtpServer(t, { security, tls: late })
    const expired = await refusal(emailTransport(options(old.port, { security }), undefined, trustingBoth))
    assert.match(expired.message, /the certificate of 127\.0\.0\.1:\d+ is not valid at this time/)
    assert.deepEqual([stranger.final, expired.final, current.mails, old.mails], [false, false, [], []])
  }
})

test('a wrong password is the fault of the channel', { skip: NO_SMTPD }, async (t) => {
  const { mails, port } = await smtpServer(t, { login: LOGIN, security: 'starttls', tls: ours })
  const how = options(port, { security: 'starttls', username: LOGIN.username })
  const wrong = await refusal(emailTransport(how, 'hunter2-hunter2', trusting))
  assert.match(wrong.message, /refused the login \(535 .*\): check user name and password of the channel$/)
  assert.doesNotMatch(wrong.message, /hunter2/)
  const none = await refusal(emailTransport(how, undefined, trusting))
  assert.match(none.message, /has the user name alerts@example\.org but no password/)
  const nobody = await refusal(emailTransport(options(port, { security: 'starttls' }), undefined, trusting))
  assert.match(nobody.message, /\(530 .*\)/)
  assert.deepEqual([wrong.final, none.final, nobody.final, mails], [false, false, false, []])
})

test('of several recipients the good ones get it, and the refused ones are named', { skip: NO_SMTPD }, async (t) => {
  const refuse = { 'bob@example.org': '550 5.1.1 no such user', 'eve@example.org': '452 4.2.2 mailbox full' }
  const { mails, port } = await smtpServer(t, { refuse, security: 'none' })
  const to = ['ann@example.org', 'bob@example.org', 'eve@example.org']
  const { warning } = await sent(emailTransport(options(port, { to }), undefined, base()))
  assert.match(
    warning ?? '',
    /refused bob@example\.org \(550 5\.1\.1 no such user\), eve@example\.org \(452 4\.2\.2 mailbox full\): check these/,
  )
  assert.deepEqual(mails[0]?.to, ['ann@example.org'])
  const finals = [['bob@example.org'], ['eve@example.org'], ['bob@example.org', 'eve@example.org']].map(
    async (some) => {
      const refused = await refusal(emailTransport(options(port, { to: some }), undefined, base()))
      assert.match(refused.message, /refused all recipients: /)
      return refused.final
    },
  )
  assert.deepEqual(await Promise.all(finals), [true, false, false])
  assert.equal(mails.length, 1)
})

test('a message that is refused for good is not tried again', { skip: NO_SMTPD }, async (t) => {
  const finals = ['554 5.7.1 this looks like spam', '451 4.3.0 try later'].map(async (answer) => {
    const { port } = await smtpServer(t, { answer, security: 'none' })
    const refused = await refusal(emailTransport(options(port), undefined, base()))
    assert.ok(refused.message.includes(`did not take the message (${answer})`), refused.message)
    return refused.final
  })
  assert.deepEqual(await Promise.all(finals), [true, false])
})
