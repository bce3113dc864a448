import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask } from '../../../src/system/host/ask.ts'

test('an authority that cannot be read is told as that, not as a controller that does not answer', async () => {
  const controller = { allowInsecure: false, caFile: '/nowhere/ca.pem', url: 'https://controller.example' }
  const asked = ask(controller, { method: 'GET', path: '/x', signal: new AbortController().signal })
  await assert.rejects(asked, {
    name: 'Error',
    message:
      'https://controller.example could not be asked: the CA file cannot be read: /nowhere/ca.pem does not exist',
  })
})
