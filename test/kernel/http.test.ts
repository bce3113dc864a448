import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UserError } from '../../src/kernel/fail.ts'
import { ask, NoAnswer } from '../../src/kernel/http.ts'
import { json, peer } from '../kit/peer.ts'

test('a name is asked for once, and its connection goes to the address that was given', async (t) => {
  const server = await peer(json({}))
  t.after(() => server.close())
  const names: string[] = []
  const question = {
    headers: {},
    // A name server that says something else the second time.
    lookup: ((name, options, callback) => {
      const address = names.push(name) === 1 ? '127.0.0.1' : '127.0.0.2'
      callback(null, options.all ? [{ address, family: 4 }] : address, 4)
    }) as import('node:net').LookupFunction,
    maxBytes: 1_000,
    method: 'GET' as const,
    url: new URL(`http://rebinding.example:${server.port}/`),
  }
  assert.equal((await ask(question)).status, 200)
  assert.deepEqual([names, server.asked[0]?.headers.host], [['rebinding.example'], `rebinding.example:${server.port}`])
})

test('a lookup that refuses a name is heard as it is', async () => {
  const refused = new UserError('not there')
  const question = {
    headers: {},
    lookup: ((_name, _options, callback) => callback(refused, [])) as import('node:net').LookupFunction,
    maxBytes: 1_000,
    method: 'GET' as const,
    url: new URL('http://refused.example/'),
  }
  await assert.rejects(ask(question), (e) => e === refused && !(e instanceof NoAnswer))
})
