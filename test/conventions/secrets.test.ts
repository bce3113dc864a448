import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { generateSshKey } from '../../src/crypto/sshkey.ts'
import { type Answer, kit } from '../kit/kit.ts'

const RUNNER = 'runner-token-0123456789'
const FIRST = 'first-password-of-the-admin'
const k = kit({
  env: { SVC_RUNNER_TOKEN: RUNNER, SVC_LOCAL_ADMIN_PASSWORD: FIRST, SVC_AUDIT_MACHINE_WINDOW_SECONDS: '0' },
})
after(() => k.close())

const EMAIL = 'admin@roomtone.local'

/** Every answer of the run, and every secret with the one answer it may stand in (none: it came from outside). */
const answers: Answer[] = []
const secrets = new Map<string, { what: string; shown: Answer | undefined }>()

const keep = (what: string, secret: string, shown?: Answer): string => {
  assert.ok(secret.length >= 9, `${what} is no secret: ${secret}`)
  secrets.set(secret, { what, shown })
  return secret
}

type Client = ReturnType<typeof k.bearer>
const calls =
  (client: Client) =>
  async (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> => {
    const answer = await client.send(method, path, body, headers)
    answers.push(answer)
    return answer
  }

/** The lines of a private key that only its owner knows. */
const keyLines = (pem: string): string[] =>
  pem.split('\n').filter((line) => line.length > 40 && !line.includes('-----'))

/** The public half begins the key text of OpenSSH: a line is secret when the public line does not hold it. */
function keepKey(what: string, pem: string, shown?: Answer): void {
  const [, ...secret] = keyLines(pem)
  assert.ok(secret.length > 0, what)
  for (const line of secret) keep(what, line, shown)
}

async function people(): Promise<Client> {
  await k.start()
  keep('the configured password', FIRST)
  const anonymous = calls(k.anonymous)
  await anonymous('POST', '/auth/login', { email: EMAIL, password: keep('a wrong password', 'wrong-password-typed') })
  await anonymous('POST', '/auth/login', {
    email: keep('a password in the e-mail field', 'my-password-by-mistake'),
    password: FIRST,
  })
  await anonymous('POST', '/auth/login', {
    email: EMAIL,
    password: { nested: keep('a password of the wrong type', 'nested-password-value') },
  })
  const login = await anonymous('POST', '/auth/login', { email: EMAIL, password: FIRST })
  const owner = k.bearer(keep('a session token', login.json.data.token, login))
  const admin = calls(owner)
  await calls(k.bearer(keep('a token that does not exist', 'svc_made-up-session-token')))('GET', '/nodes')
  const made = await admin('POST', '/auth/users', {
    email: 'u@example.org',
    name: 'U',
    roles: ['viewer'],
    password: keep("a user's password", 'password-of-the-user'),
  })
  await admin('POST', '/auth/users', {
    email: 'not an address',
    name: 'U',
    roles: ['nobody'],
    password: keep('the password of a refused user', 'password-refused-here'),
  })
  await admin('POST', '/auth/users', {
    email: 'v@example.org',
    name: 'V',
    roles: ['viewer'],
    password: keep('a password beyond the limit', `too-long-${'p'.repeat(300)}`),
  })
  const user = `/auth/users/${made.json.data.id}`
  await admin('PATCH', `${user}/password`, { password: keep('a reset password', 'reset-password-of-the-user') })
  const second = await anonymous('POST', '/auth/login', {
    email: 'u@example.org',
    password: 'reset-password-of-the-user',
  })
  const token = keep("a user's session token", second.json.data.token, second)
  await calls(k.bearer(token))('GET', '/auth/me')
  await calls(k.bearer(token))('POST', '/auth/logout')
  await calls(k.bearer(token))('GET', '/auth/me')
  for (const path of [user, `${user}/actions`, '/auth/users', '/auth/access-policies']) await admin('GET', path)
  return owner
}

async function nodes(owner: Client): Promise<void> {
  const admin = calls(owner)
  const enrolled = await admin('POST', '/nodes/enroll', {
    alias: 'A',
    hostname: 'a',
    location: { site: 'S', room: 'R' },
  })
  const { node, credential } = enrolled.json.data
  const path = `/nodes/${node.id}`
  keep('an enrolled node token', credential.token, enrolled)
  const minted = await admin('POST', `${path}/bootstrap-token`, {})
  const guest = k.bearer(keep('a bootstrap token', minted.json.data.token, minted))
  const coded = await admin('POST', `${path}/pairing-code`, {})
  const code = keep('a pairing code', coded.json.data.code, coded)
  await calls(k.anonymous)('POST', '/nodes/pair', { code: [code] })
  const paired = await calls(k.anonymous)('POST', '/nodes/pair', { code })
  keep('a bootstrap token for a code', paired.json.data.token, paired)
  await calls(k.anonymous)('POST', '/nodes/pair', { code })
  const key = generateSshKey('recorder')
  keepKey('the private key of a node', key.privateKey)
  await calls(guest)('POST', `${path}/bootstrap`, { ...key, publicKey: key.privateKey })
  await calls(guest)('POST', `${path}/bootstrap`, { ...key, username: 7 })
  await calls(guest)('POST', `${path}/bootstrap`, `{"privateKey":${JSON.stringify(key.privateKey)},"publicKey":`)
  const joined = await calls(guest)('POST', `${path}/bootstrap`, { ...key, username: 'svc' })
  assert.equal(joined.status, 201)
  await calls(guest)('POST', `${path}/bootstrap`, { ...key, username: 'svc' })
  const agent = k.bearer(keep('a bootstrapped node token', joined.json.data.controllerToken, joined))
  await calls(agent)('GET', `${path}/config`)
  await calls(agent)('POST', `${path}/heartbeat`, { agentVersion: '1', hostname: 'a' })
  await calls(agent)('GET', '/nodes')
  const rotated = await admin('POST', `${path}/credentials/rotate`)
  keep('a rotated node token', rotated.json.data.token ?? rotated.json.data.credential.token, rotated)
  await calls(agent)('GET', `${path}/config`)
  const runner = calls(k.bearer(keep('the runner token', RUNNER)))
  const before = await runner('GET', `${path}/ssh-credential/material`)
  for (const line of keyLines(key.privateKey).slice(1))
    secrets.set(line, { what: 'the private key of a node', shown: before })
  await admin('POST', `${path}/ssh-credential/rotate`, {})
  await admin('GET', `${path}/ssh-credential`)
  const material = await runner('GET', `${path}/ssh-credential/material?mintToken=1`)
  const text = JSON.stringify(material.json.data)
  const pem = /-----BEGIN OPENSSH PRIVATE KEY-----.*?-----END OPENSSH PRIVATE KEY-----/.exec(text)?.[0] ?? ''
  for (const line of keyLines(pem.replaceAll('\\n', '\n')).slice(1)) {
    // The previous key comes along until the node is known to hold the new one.
    if (!secrets.has(line)) keep('a private key made by the controller', line, material)
  }
  for (const [found] of text.matchAll(/svc_node_[\w-]{20,}/g)) keep('a node token minted for a deploy', found, material)
  assert.match(text, /svc_node_[\w-]{20,}/)
  await calls(k.bearer('runner-token-that-is-wrong'))('GET', `${path}/ssh-credential/material`)
  await admin('POST', `${path}/credentials/revoke`)
  for (const read of [path, '/nodes', `${path}/ssh-credential`, '/audit-events?limit=500', '/openapi.json'])
    await admin('GET', read)
  await admin('GET', '/metrics')
}

/** Destinations that refuse: a server that quotes what it was told, a program that says its arguments. */
async function uploads(owner: Client): Promise<void> {
  const admin = calls(owner)
  const s3 = { accessKeyId: 'AKIA', bucket: 'takes', endpoint: 'http://127.0.0.1:1', forcePathStyle: true }
  const base = '/settings/upload-destinations'
  const made = await admin('POST', base, {
    displayName: 'S3',
    enabled: true,
    kind: 's3',
    s3,
    s3SecretAccessKey: keep('the secret of a bucket', 'secret-access-key-of-the-bucket'),
  })
  const path = `${base}/${made.json.data.id}`
  const share = await admin('POST', base, {
    displayName: 'SMB',
    enabled: true,
    kind: 'smb',
    smb: { port: 1, server: '127.0.0.1', share: 'takes', username: 'u' },
    smbPassword: keep('the password of a share', 'password-of-the-share-itself'),
  })
  await admin('POST', base, {
    displayName: 7,
    kind: 's3',
    s3SecretAccessKey: keep('the secret of a refused destination', 'secret-of-a-refused-destination'),
  })
  await admin('PATCH', path, {
    s3SecretAccessKey: { a: keep('a secret of the wrong type', 'secret-within-an-object') },
  })
  await admin('PATCH', path, { s3SecretAccessKey: keep('a changed secret', 'secret-access-key-number-two') })
  k.sql(
    `INSERT INTO recordings (id, name, folder, source, status, recorded_at, updated_at) VALUES ('r', 'R', 'F', 'ad_hoc', 'cached', ?, ?)`,
    ...[k.now(), k.now()],
  )
  k.sql(
    `INSERT INTO recording_files VALUES ('r', 'primary', 'r.mp3', 'x', 5, 'audio/mpeg', 7, NULL, 0, ?, NULL, 1)`,
    k.now(),
  )
  mkdirSync(k.takes, { recursive: true })
  writeFileSync(`${k.takes}/r.mp3`, 'sound')
  for (const { json } of [made, share]) {
    const policy = await admin('POST', '/settings/upload-policies', { destinationId: json.data.id, name: 'P' })
    await admin('POST', '/recordings/r/upload-queue', { uploadPolicyId: policy.json.data.id })
  }
  const run = await admin('POST', '/upload-runner/run')
  assert.equal(run.json.summary.deferred, 2, run.text)
  for (const read of [base, path, `${path}/actions`, '/upload-queue', '/upload-runner', '/recordings/r/context'])
    await admin('GET', read)
  await admin('DELETE', path)
}

/** The secret as it is, and as it would stand in JSON, in base64 and in hex. */
const shapes = (secret: string): Buffer[] => [
  Buffer.from(secret),
  Buffer.from(JSON.stringify(secret).slice(1, -1)),
  Buffer.from(Buffer.from(secret).toString('base64').replace(/=+$/, '').slice(0, -2)),
  Buffer.from(Buffer.from(secret).toString('hex')),
]
const holds = (where: Buffer, secret: string): boolean => shapes(secret).some((shape) => where.includes(shape))

// The answer that hands out the current key also hands out the previous one.
const both = (a: Answer): boolean => a.text.includes('PRIVATE KEY')

test('tokens, passwords and private keys stand nowhere but in the one answer that hands them out', async () => {
  const owner = await people()
  await nodes(owner)
  await uploads(owner)
  assert.ok(secrets.size >= 18, `${secrets.size} secrets`)
  const database = k.db.raw.serialize() as Buffer
  const log = Buffer.from(k.logged.join('\n'))
  const trail = Buffer.from(JSON.stringify(k.rows('SELECT * FROM audit_events')))
  assert.ok(database.includes(Buffer.from('u@example.org')), 'what is no secret is found where it belongs')
  assert.ok(trail.includes(Buffer.from('nodes.bootstrap.completed')))
  for (const [secret, { what, shown }] of secrets) {
    assert.ok(!holds(database, secret), `${what} is in the database`)
    assert.ok(!holds(log, secret), `${what} is in the log`)
    assert.ok(!holds(trail, secret), `${what} is in the audit`)
    for (const answer of answers) {
      if (answer === shown || (shown && both(shown) && both(answer))) continue
      assert.ok(
        !holds(Buffer.from(answer.text), secret),
        `${what} is in an answer: ${answer.status} ${answer.text.slice(0, 200)}`,
      )
    }
    if (shown) assert.ok(holds(Buffer.from(shown.text), secret), `${what} is handed out`)
  }
})

test('a generated first password is told once, in a log line that says so, and stands nowhere else', async () => {
  const fresh = kit()
  try {
    await fresh.start()
    const told = fresh.logged.filter((entry) => entry.toLowerCase().includes('password'))
    assert.equal(told.length, 1)
    const words = Object.values(JSON.parse(told[0] as string) as Record<string, string>).join(' ')
    const password = words.split(/\s+/).find((word) => /^[\w-]{24}$/.test(word)) ?? ''
    const login = await fresh.anonymous.post('/auth/login', { email: EMAIL, password })
    assert.equal(login.status, 200)
    assert.ok(!holds(fresh.db.raw.serialize() as Buffer, password))
    await fresh.start()
    assert.equal(fresh.logged.filter((entry) => entry.includes(password)).length, 1)
  } finally {
    await fresh.close()
  }
})
