// A controller with a webhook that works, and a rule that tells it of things.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type Kit, kit } from '../../kit/kit.ts'
import { type Asked, peer, type Reply } from '../../kit/peer.ts'
import { until } from '../../kit/whole.ts'

export const KEY = `whsec_${Buffer.from('k'.repeat(32)).toString('base64')}`

interface Hook {
  data: {
    event: { id: string; severity: string; status: string; type: string }
    events?: { event: { id: string }; kind: string }[]
    report?: { figures: Record<string, number>; late: object[]; lost: string[] }
    room?: { name: string }
    url?: string
  }
  timestamp: string
  type: string
}

/** The published library finds its signature right; it would find the time of the kit too old. */
export function hookOf({ body, headers }: Asked): Hook {
  const [id, at] = [String(headers['webhook-id']), Number(headers['webhook-timestamp'])]
  assert.equal(headers['webhook-signature'], new Webhook(KEY).sign(id, new Date(at * 1000), body))
  return JSON.parse(body)
}

const accepted: Reply = (_, response) => void response.writeHead(204).end()

export const answering =
  (status: number): Reply =>
  (_, response) =>
    void response.writeHead(status).end()

export async function world(t: TestContext, env: Record<string, string> = {}) {
  const receiver = await peer(accepted)
  const k = kit({ env: { SVC_PUBLIC_URL: 'https://rooms.example', SVC_WEBHOOK_ALLOW_PRIVATE: '1', ...env } })
  t.after(async () => {
    await k.close()
    await receiver.close()
  })
  const admin = k.as('admin')
  const made = async (path: string, body: object) => (await admin.post(path, body)).json.data as { id: string }
  const hook = (name: string, path = '/hook') =>
    made('/settings/notification-channels', {
      kind: 'webhook',
      name,
      secret: KEY,
      webhook: { url: `${receiver.url}${path}` },
    })
  const channel = await hook('Pager')
  const rule = (fields: object = {}) =>
    made('/settings/notification-rules', {
      channelId: channel.id,
      minSeverity: 'warning',
      name: 'Everything',
      throttleSeconds: 0,
      ...fields,
    })
  return {
    admin,
    channel,
    hook,
    k,
    receiver,
    rule,
    /** Opens an event as a person reports one. */
    async open(nodeId: string, fields: object = {}): Promise<string> {
      const body = { nodeId, severity: 'warning', type: 'room.remark', ...fields }
      return (await admin.post('/health-events', body)).json.data.id
    },
    resolve: (id: string) => admin.post(`/health-events/${id}/resolve`, {}),
    /** Passes of the runner until nothing is under way, or due. */
    deliver: () => deliver(k),
    /** What the receiver was sent, in order: `type severity`. */
    told: (): string[] => receiver.asked.map((asked) => `${hookOf(asked).type} ${asked.url}`),
  }
}

async function deliver(k: Kit): Promise<void> {
  for (;;) {
    await k.tick('notifications')
    await until(
      'the end of the attempts',
      () => k.rows(`SELECT 1 FROM notifications WHERE status = 'sending'`).length === 0,
    )
    const more = k.rows(
      `SELECT 1 FROM notifications q JOIN notification_channels c ON c.id = q.channel_id
        WHERE q.status = 'queued' AND c.enabled = 1 AND q.next_attempt_at <= ?
          AND NOT EXISTS (SELECT 1 FROM notifications p WHERE p.channel_id = q.channel_id AND p.seq < q.seq AND p.user_id IS q.user_id
            AND p.status = 'queued' AND (p.held = 0 OR p.next_attempt_at <= ?))`,
      k.now(),
      k.now(),
    )
    const isWaiting = k.ticker.status().find(({ name }) => name === 'notifications')?.lastResult as { begun: number }
    if (more.length === 0 || isWaiting.begun === 0) return
  }
}
