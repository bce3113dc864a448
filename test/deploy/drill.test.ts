// The drill: a box with everything on it is gone; a fresh one gets the database from its replica and the takes from where
// they were uploaded to, and nothing that was acknowledged is missing.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Db } from '../../src/controller/store/db.ts'
import type { UploadItem } from '../../src/wire/uploads.ts'
import { counted, wav } from '../controller/recordings/chunks/world.ts'
import { ACCESS_KEY, type S3Server, SECRET_KEY, s3Server } from '../kit/s3.ts'
import { NO_SMBD, SMB_PASSWORD, type SmbServer, smbServer } from '../kit/smb.ts'
import { sound } from '../kit/sound.ts'
import { Controller, filesBelow, House, until } from '../kit/whole.ts'
import { Replicator, restored, rowsOf } from './replicator.ts'

const KEY = { SVC_SECRET_KEY: 'the-key-that-is-kept-in-a-safe-place' }
const MIB = 1024 * 1024
// The second one is delivered in parts.
const SIZES = [300_000, 17 * MIB + 7, 40_000]
const CHUNKS = 3
// Of the last whole take and of the one in chunks.
const MASTERS = 2

describe('a box is lost', () => {
  let house: House
  let old: Controller
  let s3: S3Server
  // The third take goes to a share, where there can be one here.
  let smb: SmbServer | undefined
  let replicator: Replicator
  let node = { id: '', token: '' }
  let profile = ''
  const takes = new Map<string, Buffer>()
  const masters = new Map<string, Buffer>()
  let rows = new Map<string, string[]>()
  let answers = new Map<string, number>()
  const on = () => house.path('fresh')

  const verb = async (args: string[], env: Record<string, string> = {}) => {
    const program = house.start(args, { cwd: house.dir, env: { SVC_DATA_DIR: on(), ...KEY, ...env } })
    const [code] = await program.exited
    return { code, said: program.said() }
  }
  const begin = async (recordingProfileId: string, uploadPolicyIds: string[]) => {
    const { job, recording } = await old.record(node.id, recordingProfileId, 60, { uploadPolicyIds })
    assert.equal((await old.ask('POST', `/recording-jobs/${job.id}/claim`, {}, node.token)).status, 200)
    const send = async (bytes: Buffer, type: string, query = ''): Promise<void> => {
      const headers = {
        authorization: `Bearer ${node.token}`,
        'content-type': type,
        'x-svc-duration-seconds': '5',
        'x-svc-recording-job-id': job.id,
      }
      const url = `${old.url}/api/v1/recordings/${recording.id}/cache-file${query}`
      const answer = await fetch(url, { method: 'PUT', headers, body: new Uint8Array(bytes) })
      assert.ok(answer.ok, await answer.text())
    }
    return { id: recording.id, send }
  }
  /** A take that the controller has acknowledged, and the master beside it. */
  const record = async (bytes: Buffer, policyId: string, master?: Buffer): Promise<void> => {
    const { id, send } = await begin(profile, [policyId])
    await send(bytes, 'audio/mpeg', master && '?rendition=enhanced')
    takes.set(id, bytes)
    if (!master) return
    await send(master, 'audio/wav', '?rendition=raw')
    masters.set(id, master)
  }
  /** One that comes in chunks: they are uploaded one by one, what is played is made of them. */
  const recordInChunks = async (policyId: string): Promise<void> => {
    const made = { chunkSeconds: 5, codec: 'wav', enhancement: null, name: 'In chunks' }
    const { id, send } = await begin((await old.post('/settings/recording-profiles', made)).id, [policyId])
    for (const [index, more] of ['', '', '&chunkTotal=3'].entries()) {
      await send(wav(counted(index * 80_000, 80_000)), 'audio/wav', `?chunk=${index}${more}&rendition=enhanced`)
      await send(wav(counted(index * 80_000 + 7, 80_000)), 'audio/wav', `?chunk=${index}&rendition=raw`)
    }
    await until('the chunks to be joined', async () => {
      const { enhancedCachePath, rawCachePath } = await old.get(`/recordings/${id}`)
      return enhancedCachePath && rawCachePath
    })
    takes.set(id, await old.file(id))
    masters.set(id, wav(counted(7, 240_000)))
  }
  const policy = async (destinationId: string): Promise<string> => {
    const fields = { name: destinationId, pathOverride: 'north/2026', trigger: 'on_recording_cached' }
    return (await old.post('/settings/upload-policies', { destinationId, ...fields })).id
  }
  const shareOf = async ({ port, share, username }: SmbServer): Promise<string> => {
    const where = { path: 'rooms', port, server: '127.0.0.1', share, username }
    const destination = { displayName: 'Share', enabled: true, kind: 'smb', smb: where, smbPassword: SMB_PASSWORD }
    return (await old.post('/settings/upload-destinations', destination)).id
  }
  /** Four people and a node who ask all the time; gives the end of it, with every answer. */
  const busy = () => {
    let on = true
    const told = new Map<string, number>()
    const ask = async (): Promise<void> => {
      while (on) {
        const name = crypto.randomUUID()
        told.set(name, (await old.ask('POST', '/rooms', { name, site: 'S' })).status)
        await old.ask('GET', `/nodes/${node.id}/config`, undefined, node.token)
      }
    }
    const all = Array.from({ length: 4 }, ask)
    return async () => {
      on = false
      await Promise.all(all)
      return told
    }
  }

  before(async () => {
    house = await House.open()
    s3 = await s3Server({ keeps: true })
    if (!NO_SMBD) smb = await smbServer()
    old = await new Controller(house, { SVC_DATABASE_REPLICATED: 'true', ...KEY }).start()
    replicator = new Replicator(path.join(old.data, 'roomtone.db'))
    await old.login()
    node = await old.enroll('recorder')
    profile = await old.plainProfile('mp3')
    const destination = await old.post('/settings/upload-destinations', {
      displayName: 'Archive',
      enabled: true,
      kind: 's3',
      s3: { accessKeyId: ACCESS_KEY, bucket: 'takes', endpoint: s3.endpoint, forcePathStyle: true, prefix: 'rooms' },
      s3SecretAccessKey: SECRET_KEY,
    })
    const archive = await policy(destination.id)
    const policies = [archive, archive, smb ? await policy(await shareOf(smb)) : archive]
    const traffic = busy()
    for (const [i, size] of SIZES.entries()) {
      await record(sound(size, 'mp3'), policies[i]!, i === 2 ? sound(2 * size) : undefined)
      for (const mode of ['PASSIVE', 'RESTART', 'TRUNCATE'] as const) {
        replicator.sync()
        await replicator.lock(50)
        replicator.checkpoint(mode)
      }
    }
    await recordInChunks(archive)
    answers = await traffic()
    await old.post('/upload-runner/run')
    await until('all takes to be uploaded', async () => {
      const items: UploadItem[] = await old.get('/upload-queue?limit=50')
      return items.length === SIZES.length + CHUNKS + MASTERS && items.every((item) => item.status === 'succeeded')
    })
    // Moved since: what was sent before lies where it was sent to.
    const moved = {
      accessKeyId: ACCESS_KEY,
      bucket: 'takes',
      endpoint: s3.endpoint,
      forcePathStyle: true,
      prefix: 'elsewhere',
    }
    await old.get(`/settings/upload-destinations/${destination.id}`, 'PATCH', { s3: moved })
    // A day later: what is joined sample for sample needs no chunks here.
    replicator.sql(
      "DELETE FROM recording_chunk_files; UPDATE chunked_recordings SET released_at = '2026-01-01T00:00:00.000Z'",
    )
    rows = replicator.moment()
    await old.program.end('SIGKILL')
    restored(replicator, house.path('replica.db'))
    replicator.close()
    fs.rmSync(old.data, { recursive: true })
  })
  after(async () => {
    await s3?.close()
    await smb?.close()
    await house?.close()
  })

  test('the controller answered everybody beside its replicator, and every answer is in the replica', () => {
    assert.ok(answers.size > 10, `${answers.size} rooms`)
    assert.deepEqual(new Set(answers.values()), new Set([201]))
    const rooms = rows.get('rooms')!.join()
    for (const name of answers.keys()) assert.ok(rooms.includes(name), name)
    const files = rows.get('recording_files')!.join()
    for (const bytes of [...takes.values(), ...masters.values()])
      assert.ok(files.includes(createHash('sha256').update(bytes).digest('hex')))
  })

  test('without the old key the destinations stay shut, and it is said which key is meant', async () => {
    const { code, said } = await verb(['restore', house.path('replica.db'), '--takes-from-destinations'], {
      SVC_DATA_DIR: house.path('keyless'),
      SVC_SECRET_KEY: '',
    })
    assert.equal(code, 2, said)
    assert.match(said, /set SVC_SECRET_KEY to the old controller's/)
    const wrong = await verb(['restore', '--takes-from-destinations'], {
      SVC_DATA_DIR: house.path('keyless'),
      SVC_SECRET_KEY: 'another-key-than-the-one-it-was',
    })
    assert.equal(wrong.code, 1)
    assert.match(wrong.said, /has to be entered again/)
  })

  test('a destination that does not answer costs nothing but another call', async () => {
    s3.useSecret('changed at the service')
    const { code, said } = await verb(['restore', house.path('replica.db'), '--takes-from-destinations'])
    assert.equal(code, 1, said)
    assert.match(said, /SignatureDoesNotMatch/)
    assert.equal(said.includes(SECRET_KEY), false)
    // What lies elsewhere came all the same.
    assert.equal(filesBelow(path.join(on(), 'recordings')).length, smb ? 2 : 0)
    assert.equal(said.match(/at no destination and not here/g)?.length, smb ? 4 : 6)
    s3.useSecret(SECRET_KEY)
  })

  test('damaged on the way is not taken for the take', async () => {
    const [key, object] = [...s3.objects].find(([, one]) => one.size === SIZES[0])!
    s3.objects.set(key, { ...object, body: Buffer.alloc(object.size) })
    const { code, said } = await verb(['restore', '--takes-from-destinations'])
    assert.equal(code, 1)
    assert.match(said, /^not what was stored: /m)
    assert.match(said, /5 files in place, [35] copied now/)
    s3.objects.set(key, object)
  })

  test('a disk that refuses is not blamed on the destination', async () => {
    const stored = rows.get('recording_files')!.map((row) => JSON.parse(row).path as string)
    const missing = stored.find((file) => !fs.existsSync(path.join(on(), 'recordings', file)))!
    const part = path.join(on(), 'recordings', `${missing}.part`)
    fs.mkdirSync(part)
    const { code, said } = await verb(['restore', '--takes-from-destinations'])
    assert.equal(code, 1)
    assert.match(said, /is a directory/)
    assert.doesNotMatch(said, /not used again/)
    fs.rmdirSync(part)
  })

  test('every acknowledged row and every byte is back', async () => {
    const { code, said } = await verb(['restore', '--takes-from-destinations'])
    assert.equal(code, 0, said)
    assert.match(said, /6 files in place, 1 copied now/)
    const checked = await verb(['check', '--deep'])
    assert.equal(checked.code, 0, checked.said)
    const db = new Db(path.join(on(), 'roomtone.db'), undefined, { plain: true })
    const now = rowsOf(db)
    db.close()
    assert.deepEqual([...now.keys()], [...rows.keys()])
    for (const [table, own] of rows) {
      // Everybody has to log in again, manifests are written anew, and the restore itself is written down.
      if (table === 'sessions') assert.equal(now.get(table)!.length, own.length)
      else if (table === 'manifest_walks') assert.equal(now.get(table)!.length, 1)
      else if (table.startsWith('audit_'))
        assert.deepEqual(new Set(own).difference(new Set(now.get(table)!)), new Set())
      else assert.deepEqual(now.get(table), own, table)
    }
  })

  test('the fleet goes on with its tokens: what was recorded is heard, what is recorded is taken', async () => {
    const fresh = await new Controller(house, { SVC_DATA_DIR: on(), ...KEY }).start()
    assert.equal((await fresh.ask('GET', '/auth/me', undefined, old.session)).status, 401)
    await fresh.login()
    for (const [id, bytes] of takes) assert.ok((await fresh.file(id)).equals(bytes), id)
    for (const [id, bytes] of masters) assert.ok((await fresh.file(id, 'raw')).equals(bytes), id)
    const beat = await fresh.ask('POST', `/nodes/${node.id}/recording-jobs/claim-next`, {}, node.token)
    assert.ok(beat.status < 300, JSON.stringify(beat.json))
    await fresh.program.end('SIGTERM')
  })
})
