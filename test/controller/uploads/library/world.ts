// A library in a real object store behind a controller that listens.
import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as path from 'node:path'
import { serve } from '@hono/node-server'
import { type S3Object, type S3Options, s3Server } from '../../../kit/s3.ts'
import { S3_DESTINATION, uploads } from '../uploads.ts'

interface Wire {
  body: Buffer
  /** The connection ended before the body was as long as its head said. */
  broken: boolean
  headers: IncomingHttpHeaders
  status: number
}

/** Another store than ours, and its keys. */
interface Elsewhere {
  accessKeyId: string
  endpoint: string
  secretAccessKey: string
}

/** A destination that keeps the library, a policy that sends everything there, and one that leaves nothing here for long. */
export async function library(options: S3Options = {}, env: Record<string, string> = {}, elsewhere?: Elsewhere) {
  const store = await s3Server({ keeps: true, ...options })
  const u = uploads(env)
  const { k, owner } = u
  const { accessKeyId, endpoint, secretAccessKey } = elsewhere ?? store
  const s3 = { ...S3_DESTINATION.s3, accessKeyId, endpoint }
  const destinationId = await u.destination({ keepsLibrary: true, s3, s3SecretAccessKey: secretAccessKey })
  const policyId = await u.policy(destinationId, { trigger: 'on_recording_cached' })
  const retention = { action: 'delete_cache', deleteOnlyAfterUploaded: true, id: 'day', maxAgeDays: 1, name: 'A day' }
  assert.equal((await owner.post('/settings/retention-policies', retention)).status, 201)
  const server = serve({ fetch: k.app.fetch, hostname: '127.0.0.1', port: 0 }) as Server
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo

  const open = (method: string, url: string, headers = {}) =>
    httpRequest({
      port,
      host: '127.0.0.1',
      path: `/api/v1${url}`,
      method,
      headers: { authorization: 'Bearer svc_owner', ...headers },
    }).end()
  const answerTo = (method: string, url: string, headers = {}): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => open(method, url, headers).once('error', reject).once('response', resolve))
  const send = async (method: string, url: string, headers = {}): Promise<Wire> => {
    const response = await answerTo(method, url, headers)
    const parts: Buffer[] = []
    response.on('data', (part) => parts.push(part))
    const broken = await new Promise<boolean>((resolve) => {
      response.once('end', () => resolve(false)).once('error', () => resolve(true))
    })
    return { body: Buffer.concat(parts), broken, headers: response.headers, status: response.statusCode ?? 0 }
  }
  /** A take that is here, and at the store. */
  const uploaded = async (bytes: Uint8Array, id = 'rec_1'): Promise<string> => {
    u.cached([policyId], { bytes, id })
    await u.enqueue(id)
    await k.tick('upload')
    assert.equal(u.recording(id).status, 'uploaded')
    return id
  }
  /** The same, two days later: its bytes are at the store alone. */
  const beyond = async (bytes: Uint8Array, id = 'rec_1'): Promise<string> => {
    await uploaded(bytes, id)
    k.sql(`UPDATE recordings SET retention_policy_id = 'day'`)
    k.advance('2d')
    await k.tick('retention')
    assert.deepEqual(u.recording(id).held, [destinationId])
    return id
  }
  const there = (file: string): boolean => existsSync(path.join(u.root, file))
  const objects = (): [string, S3Object][] => [...store.objects]
  const events = () =>
    k.rows<{ severity: string; status: string }>(
      `SELECT severity, status FROM health_events WHERE type = 'recording.remote_copy_damaged' ORDER BY seq`,
    )
  return {
    ...u,
    answerTo,
    beyond,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      await k.close()
      await store.close()
    },
    destinationId,
    /** The disk of the takes is a new one. */
    emptyDisk: () => {
      for (const dir of ['ad-hoc', 'scheduled']) rmSync(path.join(u.root, dir), { force: true, recursive: true })
    },
    events,
    objects,
    policyId,
    send,
    store,
    there,
    uploaded,
  }
}
export type LibraryWorld = Awaited<ReturnType<typeof library>>
