import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as net from 'node:net'
import * as path from 'node:path'
import { test } from 'node:test'
import { listenForTakeoverRequests, sendTakeoverRequest } from '../../../src/controller/succession/control.ts'
import type { TakeoverRequest } from '../../../src/controller/succession/takeover.ts'
import { scratchDir } from '../../kit/scratch.ts'

test('what is no whole request is refused, and nothing is carried out', async (t) => {
  const dir = scratchDir('roomtone-requests-')
  const carried: TakeoverRequest[] = []
  const requests = await listenForTakeoverRequests(dir, async (request) => {
    carried.push(request)
    return 'done'
  })
  t.after(() => requests.close())
  for (const line of ['[]', '{}', 'null', '"planned"', '{"planned":false}', '{"force":1,"planned":true}', 'not json']) {
    const socket = net.connect(path.join(dir, 'standby.sock'))
    socket.write(`${line}\n`)
    const [answer] = await once(socket, 'data')
    assert.match(String(answer), /"refused":"The standby does not understand this request/, line)
    socket.destroy()
  }
  assert.deepEqual(carried, [])
  assert.equal(await sendTakeoverRequest(dir, { force: false, planned: true }, () => {}), 'done')
  assert.deepEqual(carried, [{ force: false, planned: true }])
})
