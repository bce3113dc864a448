import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agent, controller, kind } from './daemon.ts'
import { json, serve } from './server.ts'

test('once the controller is heard again jobs are asked for at once', async (t) => {
  const again = Promise.withResolvers<void>()
  let [beats, beatsSince] = [0, 0]
  const server = await serve(
    t,
    controller((seen, response) => {
      const isAway = beats < 8
      if (kind(seen) === 'heartbeat') {
        beats++
        if (!isAway) beatsSince++
      }
      if (!isAway && kind(seen).endsWith('claim-next-group')) again.resolve()
      if (isAway) json(response, 503, { error: 'unavailable' })
      return isAway
    }),
  )
  agent(t, server.url)
  await again.promise
  // Left to itself the pause after so many failures is as long as the outage was.
  assert.ok(beatsSince <= 3, `asked ${beatsSince} heartbeats later`)
})

test('claims without an answer are made again with the next heartbeat that has one', async (t) => {
  const again = Promise.withResolvers<void>()
  let [beats, beatsSince] = [0, 0]
  const server = await serve(
    t,
    controller((seen, response) => {
      const isAway = beats < 12
      if (kind(seen) === 'heartbeat') {
        beats++
        if (!isAway) beatsSince++
      }
      if (!kind(seen).endsWith('claim-next-group')) return false
      if (isAway) response.destroy()
      else again.resolve()
      return isAway
    }),
  )
  agent(t, server.url)
  await again.promise
  assert.ok(beatsSince <= 2, `asked ${beatsSince} heartbeats later`)
})
