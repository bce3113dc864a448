import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillInstaller, ownAddress } from '../../../../src/controller/fleet/onboarding/install.routes.ts'
import { kit } from '../../../kit/kit.ts'

test('the installer is open to all, leaves no row, and knows where it came from', async () => {
  const k = kit()
  const response = await k.app.request('/install.sh', { headers: { host: 'recorder.example:8443' } })
  assert.equal(response.status, 200)
  const script = await response.text()
  assert.match(script, /^#!\/bin\/sh\n/)
  assert.match(script, /^default_controller_url='http:\/\/recorder\.example:8443'$/m)
  assert.deepEqual(k.trail(), [])
  await k.close()
})

test('the address an operator gave wins over the name of the request', () => {
  assert.equal(ownAddress('https://a.example/', 'b.example', false), 'https://a.example')
  assert.equal(ownAddress(undefined, 'b.example', true), 'https://b.example')
  assert.equal(ownAddress(undefined, '[fe80::1]:8787', false), 'http://[fe80::1]:8787')
})

test('a name that could be more than a name is left out', () => {
  for (const host of [`a'; id; '`, 'a/b', 'a b', '$(id)', 'a@b', '-a', 'a\nb', '', 'a:99999999', undefined])
    assert.equal(ownAddress(undefined, host, true), undefined, String(host))
  assert.equal(fillInstaller("x\ndefault_controller_url=''\ny", undefined), "x\ndefault_controller_url=''\ny")
  assert.equal(
    fillInstaller("default_controller_url=''", "https://a/'$&"),
    `default_controller_url='https://a/'\\''$&'`,
  )
})
