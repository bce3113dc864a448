import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { after, before, test } from 'node:test'
import { DriverError } from '../../../src/controller/uploads/driver.ts'
import { quoted, smbDriver } from '../../../src/controller/uploads/drivers.smb.ts'
import { NO_SMBD, SMB_PASSWORD, type SmbServer, smbServer } from '../../kit/smb.ts'
import { sha256, uploads } from './uploads.ts'

const dir = mkdtempSync(path.join(tmpdir(), 'roomtone-smb-'))
const BYTES = randomBytes(3_000_001)
BYTES[1_000_000] = 0
writeFileSync(path.join(dir, 'take'), BYTES)

const real = { skip: NO_SMBD }
let server: SmbServer
before(async () => {
  if (!NO_SMBD) server = await smbServer()
})
after(async () => {
  if (!NO_SMBD) await server.close()
  rmSync(dir, { recursive: true, force: true })
})

interface Try {
  command?: string
  options?: object
  remote?: string[]
  signal?: AbortSignal
}

function deliver({ command = 'smbclient', options = {}, remote = ['take.wav'], signal }: Try = {}) {
  const { port, share, username } = server ?? { port: 1, share: 'takes', username: 'u' }
  const driver = smbDriver({
    command: command.includes('/') ? command : `/usr/bin/${command}`,
    options: { password: SMB_PASSWORD, port, server: '127.0.0.1', share, username, ...options },
  })
  const delivery = {
    file: path.join(dir, 'take'),
    itemId: 'i',
    recordingId: 'r',
    remote,
    sha256: sha256(BYTES),
    size: BYTES.length,
  }
  return driver.deliver(delivery, { progress: () => {}, signal: signal ?? new AbortController().signal })
}

const reasonOf = async (attempt: Promise<unknown>): Promise<string> => {
  const e = await attempt.then(
    () => assert.fail('it arrived'),
    (e: unknown) => e,
  )
  assert.ok(e instanceof DriverError, String(e))
  return e.message
}

test(
  'a file arrives below its folders, is read back and compared; a second time it replaces itself',
  real,
  async () => {
    const remote = ['Räume', "the 'big' hall & co", '東京 (1).wav']
    for (let i = 0; i < 2; i++) {
      const observed = `sha256:${sha256(BYTES)}`
      assert.deepEqual((await deliver({ remote })).verification, {
        algorithm: 'sha256',
        expected: observed,
        method: 'file_copy_sha256',
        observed,
        status: 'matched',
      })
    }
    const folder = path.join(server.dir, ...remote.slice(0, -1))
    assert.deepEqual(readdirSync(folder), ['東京 (1).wav'], 'nothing beside it')
    assert.equal(sha256(readFileSync(path.join(folder, '東京 (1).wav'))), sha256(BYTES))
  },
)

const REFUSALS: [string, object, RegExp][] = [
  ['a wrong password', { password: 'not the password' }, /^smb_logon_failure$/],
  ['an unknown user', { username: 'nobody-of-that-name' }, /^smb_(logon_failure|no_such_user)$/],
  ['an unknown share', { share: 'elsewhere' }, /^smb_bad_network_name$/],
  ['nobody listening', { port: 1 }, /^smb_connection_refused$/],
  ['no server', { server: undefined }, /^smb_config_incomplete$/],
]
for (const [what, options, reason] of REFUSALS)
  test(`${what}: told by its code, without the password`, real, async () => {
    const told = await reasonOf(deliver({ options }))
    assert.match(told, reason)
    assert.ok(!told.includes(SMB_PASSWORD))
  })

test('what was delivered comes back; what was not is told apart from what cannot be asked', real, async () => {
  const { port, share, username } = server
  const fetched = async (remote: string[], password: string, broken = false) => {
    const smb = { password, port, server: '127.0.0.1', share, username }
    const pieces: Buffer[] = []
    const take = async (body: AsyncIterable<Buffer>) => {
      for await (const piece of body) {
        if (broken) throw new Error('the disk is full')
        pieces.push(piece)
      }
    }
    const driver = smbDriver({ command: '/usr/bin/smbclient', options: smb })
    const there = await driver.fetch(remote, take, new AbortController().signal)
    return { bytes: Buffer.concat(pieces), there }
  }
  await deliver({ remote: ['back', 'take.wav'] })
  assert.ok((await fetched(['back', 'take.wav'], SMB_PASSWORD)).bytes.equals(BYTES))
  for (const remote of [
    ['back', 'other.wav'],
    ['nowhere', 'take.wav'],
  ])
    assert.equal((await fetched(remote, SMB_PASSWORD)).there, false)
  assert.match(await reasonOf(fetched(['back', 'take.wav'], 'wrong')), /^smb_logon_failure/)
  await assert.rejects(fetched(['back', 'take.wav'], SMB_PASSWORD, true), /the disk is full/)
})

test('a share that cannot be written to fails by its code and keeps nothing', real, async () => {
  const closed = await smbServer(['read only = yes'])
  try {
    const { port, username } = closed
    assert.match(
      await reasonOf(deliver({ options: { port, username } })),
      /^smb_(access_denied|media_write_protected)$/,
    )
    assert.deepEqual(readdirSync(closed.dir), [])
  } finally {
    await closed.close()
  }
})

test('what cannot stand between quotes is refused before anything runs', () => {
  for (const part of [
    'a"b',
    'a;b',
    'a\\b',
    'a/b',
    'a\nb',
    'a\u0000b',
    'a*',
    'a?',
    '..',
    '.',
    'a|b',
    'a:b',
    'NT_STATUS_OK.wav',
  ])
    assert.throws(() => quoted(['fine', part]), /smb_path_invalid/, JSON.stringify(part))
  assert.equal(quoted(['a b', "c'd", '$(x) `y` !z.wav']), '"a b/c\'d/$(x) `y` !z.wav"')
})

/** A program in the place of smbclient. */
function program(text: string): string {
  const file = path.join(dir, `program-${randomBytes(4).toString('hex')}`)
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, 0o755)
  return file
}

test('credentials stand in no argument, no environment and no file that has a name', async () => {
  const seen = path.join(dir, 'seen')
  const command = program(
    `{ tr '\\0' '\\n' </proc/$$/cmdline; env; ls -l /proc/$$/fd/3; } >>${seen}; cat /proc/self/fd/3 >${seen}.fd; cat >/dev/null; exit 1`,
  )
  await reasonOf(deliver({ command, options: { domain: 'OFFICE', username: 'recorder' } }))
  const text = readFileSync(seen, 'utf8')
  for (const secret of [SMB_PASSWORD, 'recorder', 'OFFICE']) assert.ok(!text.includes(secret), secret)
  assert.match(text, /\(deleted\)/)
  assert.equal(readFileSync(`${seen}.fd`, 'utf8'), `username=recorder\npassword=${SMB_PASSWORD}\ndomain=OFFICE\n`)
  assert.deepEqual(
    readdirSync(tmpdir()).filter((name) => name.startsWith('.roomtone-')),
    [],
  )
})

test('a password cannot begin another line', async () => {
  assert.equal(await reasonOf(deliver({ options: { password: 'a\nusername=root' } })), 'smb_config_incomplete')
})

test('a copy that differs is not given its name', async () => {
  const said = path.join(dir, 'said')
  const command = program(
    `for last; do :; done; echo "$last" >>${said}; case "$last" in get*) echo other;; put*) cat >/dev/null;; esac`,
  )
  assert.match(await reasonOf(deliver({ command })), /^checksum_mismatch: /)
  const lines = readFileSync(said, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0])
  assert.deepEqual(lines, ['put', 'get', 'del'])
})

const DAMAGES: [string, string][] = [
  ['flips a bit', 'printf "\\377" | dd of="$file" bs=1 seek=1000000 conv=notrunc status=none'],
  ['truncates', 'truncate -s -1 "$file"'],
  ['writes more than it was given', 'echo more >>"$file"'],
  ['loses the file', 'rm "$file"'],
]
for (const [damage, how] of DAMAGES)
  test(`a share that ${damage} between writing and reading fails the upload`, real, async () => {
    // Each step is a connection of its own: this share does its damage whenever somebody connects.
    const script = program(`for file in "$1"/.*.part; do [ ! -e "$file" ] || { ${how}; }; done`)
    const bad = await smbServer([`preexec = ${script} %P`])
    try {
      const { port, username } = bad
      const told = await reasonOf(deliver({ options: { port, username } }))
      assert.match(told, damage === 'loses the file' ? /^smb_object_name_not_found$/ : /^checksum_mismatch: /)
      assert.deepEqual(readdirSync(bad.dir), [], 'nothing is left under any name')
    } finally {
      await bad.close()
    }
  })

test('a program that is not there, or only talks, fails with words', async () => {
  assert.match(
    await reasonOf(deliver({ command: path.join(dir, 'nowhere') })),
    /^smb_upload_failed: the program .*nowhere was not found/,
  )
  const talks = program(`echo 'oh no, ${'x'.repeat(5000)}' >&2; cat >/dev/null; exit 3`)
  const told = await reasonOf(deliver({ command: talks }))
  assert.match(told, /^smb_upload_failed: oh no/)
  assert.ok(told.length < 400)
  const options = { password: 'p', server: '127.0.0.1', share: 'takes', username: 'u' }
  const back = smbDriver({ command: talks, options }).fetch(
    ['a'],
    async (body) => void body.resume(),
    AbortSignal.any([]),
  )
  assert.match(await reasonOf(back), /^smb_fetch_failed: oh no/)
})

test('a server that never answers ends with the attempt, and no program is left', real, async () => {
  const sockets: { destroy(): void }[] = []
  const connected = Promise.withResolvers<void>()
  const dead = createServer((socket) => {
    sockets.push(socket)
    connected.resolve()
  })
  await new Promise<void>((resolve) => dead.listen(0, '127.0.0.1', resolve))
  const { port } = dead.address() as { port: number }
  const abort = new AbortController()
  const attempt = assert.rejects(deliver({ options: { port }, signal: abort.signal }))
  await connected.promise
  abort.abort(new DriverError('upload_stalled'))
  await attempt
  const running = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
  assert.ok(!running.includes(`-p ${port} `))
  for (const socket of sockets) socket.destroy()
  dead.close()
})

test('the queue delivers to a share and deletes what it matched', real, async () => {
  const u = uploads({ SVC_SMBCLIENT_COMMAND: '/usr/bin/smbclient' })
  const { port, share, username } = server
  const destination = await u.destination({
    kind: 'smb',
    s3: {},
    smb: { path: 'archive', port, server: '127.0.0.1', share, username },
    smbPassword: SMB_PASSWORD,
  })
  const policy = await u.policy(destination, { deleteCacheAfterUpload: true, pathOverride: '2026/March' })
  const { bytes, id, path: file } = u.cached([policy], { name: 'Choir' })
  const item = await u.enqueue(id)
  assert.equal(item.target, 'smb://127.0.0.1/takes/archive/2026/March')
  const { json } = await u.owner.post('/upload-runner/run')
  assert.equal(json.summary.items[0].checksumVerification.status, 'matched', JSON.stringify(json.summary))
  assert.deepEqual(
    readFileSync(path.join(server.dir, 'archive/2026/March', u.item(item.id).fileName ?? '')),
    Buffer.from(bytes),
  )
  assert.equal(existsSync(path.join(u.root, file)), false)
  await u.k.close()
})
