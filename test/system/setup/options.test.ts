import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  agentFault,
  controllerFault,
  lifecycleFault,
  openFault,
  runnerFault,
} from '../../../src/system/setup/options.rules.ts'
import type { AgentSetup } from '../../../src/system/setup/options.ts'
import { agentSettings } from '../../../src/system/setup/settings.ts'

const WISH: AgentSetup = {
  allowInsecure: false,
  bootstrapToken: 'svc_bs_abc',
  controllerUrl: 'https://recorder.example',
  nodeId: 'node_1',
  packages: true,
  start: true,
}

test('the options that can be fulfilled has no fault', () => {
  assert.equal(agentFault(WISH), undefined)
  assert.equal(agentFault({ ...WISH, controllerUrl: 'http://localhost:8787' }), undefined)
  assert.equal(agentFault({ ...WISH, allowInsecure: true, controllerUrl: 'http://10.0.0.1' }), undefined)
})

test('what cannot be is refused with the flag to change, and without the token', () => {
  const cases: [Partial<AgentSetup>, RegExp][] = [
    [{ controllerUrl: 'recorder.example' }, /--controller-url recorder\.example is not an http or https address/],
    [{ controllerUrl: 'ftp://recorder.example' }, /--controller-url/],
    [{ controllerUrl: 'https://recorder.example\nLD_PRELOAD=/tmp/x.so' }, /^--controller-url /],
    [
      { controllerUrl: 'https://me:secret@recorder.example' },
      /^--controller-url contains a user name or password: leave them out$/,
    ],
    [{ controllerUrl: 'http://recorder.example' }, /plain http.*--allow-insecure/],
    [{ nodeId: '../x' }, /--node-id/],
    [{ bootstrapToken: '' }, /bootstrap token is empty/],
    [{ bootstrapToken: 'two words' }, /^the bootstrap token is empty or incomplete/],
    [{ controllerCa: 'hello' }, /--controller-ca is not a PEM certificate/],
    [{ room: 'two\nlines' }, /--room must be one line/],
    [{ site: 'x'.repeat(161) }, /--site/],
    [{ alias: ' ' }, /--node-alias/],
  ]
  for (const [more, words] of cases) {
    const fault = agentFault({ ...WISH, ...more })
    assert.match(fault ?? '', words)
    assert.doesNotMatch(fault ?? '', /secret|two words/)
  }
})

test('a token stays with its node and its controller, and goes with either', () => {
  const before = { SVC_CONTROLLER_TOKEN: 't', SVC_CONTROLLER_URL: WISH.controllerUrl, SVC_NODE_ID: WISH.nodeId }
  assert.equal('SVC_CONTROLLER_TOKEN' in agentSettings(WISH, before), false)
  for (const other of [{ SVC_NODE_ID: 'node_2' }, { SVC_CONTROLLER_URL: 'https://other.example' }]) {
    const settings = agentSettings(WISH, { ...before, ...other })
    assert.equal('SVC_CONTROLLER_TOKEN' in settings, true)
    assert.equal(settings.SVC_CONTROLLER_TOKEN, undefined)
  }
})

test('what is not given stays as it was: labels and authority', () => {
  const keys = Object.keys(agentSettings(WISH, {}))
  for (const key of ['SVC_NODE_ALIAS', 'SVC_NODE_ROOM', 'SVC_NODE_SITE', 'SVC_CONTROLLER_CA_CERT_PATH'])
    assert.equal(keys.includes(key), false, key)
  assert.equal(
    agentSettings({ ...WISH, controllerCa: 'pem' }, {}).SVC_CONTROLLER_CA_CERT_PATH,
    '/etc/roomtone/controller-ca.pem',
  )
})

test('the authority of a former controller goes with it; that of this one stays', () => {
  const before = {
    SVC_CONTROLLER_CA_CERT_PATH: '/etc/roomtone/controller-ca.pem',
    SVC_CONTROLLER_URL: WISH.controllerUrl,
  }
  assert.equal('SVC_CONTROLLER_CA_CERT_PATH' in agentSettings(WISH, before), false)
  const moved = agentSettings(WISH, { ...before, SVC_CONTROLLER_URL: 'https://former.example' })
  assert.deepEqual(['SVC_CONTROLLER_CA_CERT_PATH' in moved, moved.SVC_CONTROLLER_CA_CERT_PATH], [true, undefined])
})

test('a controller is told what does not fit', () => {
  const options = { packages: true, start: true }
  assert.equal(controllerFault({ ...options, host: '::', port: 443, publicUrl: 'https://a.example' }), undefined)
  assert.match(controllerFault({ ...options, port: Number.NaN }) ?? '', /--port/)
  assert.match(controllerFault({ ...options, tlsCert: 'x' }) ?? '', /belong together/)
  assert.match(controllerFault({ ...options, publicUrl: 'a.example' }) ?? '', /--public-url/)
  assert.match(controllerFault({ ...options, host: 'a b' }) ?? '', /--host/)
})

test('a controller that would be open to readers is not installed', () => {
  for (const settings of [
    {},
    { SVC_HOST: '127.0.0.1' },
    { SVC_HOST: '0.0.0.0', SVC_API_TLS_CERT_PATH: '/a.pem' },
    { SVC_HOST: '::', SVC_TRUSTED_PROXIES: '10.0.0.1' },
    { SVC_ALLOW_PLAIN_HTTP: '1', SVC_HOST: '::' },
  ])
    assert.equal(openFault(settings), undefined)
  for (const settings of [{ SVC_HOST: '0.0.0.0' }, { SVC_ALLOW_PLAIN_HTTP: '0', SVC_HOST: 'recorder.example' }])
    assert.match(openFault(settings) ?? '', /roomtone tls init/)
})

test('a runner is told what it lacks, and no token is repeated', () => {
  const options = { controllerUrl: 'https://recorder.example', packages: true, start: true }
  const none = { packages: true, start: true }
  assert.equal(lifecycleFault(options, {}), undefined)
  assert.equal(lifecycleFault(none, { SVC_RUNNER_CONTROLLER_URL: 'https://recorder.example' }), undefined)
  assert.equal(lifecycleFault(none, { SVC_ANSIBLE_SSH_KEY_FILE: '/root/key' }), undefined)
  assert.equal(
    lifecycleFault({ ...options, controllerToken: 'x'.repeat(16), runnerToken: 'y'.repeat(16) }, {}),
    undefined,
  )
  assert.match(lifecycleFault(none, {}) ?? '', /^--controller-url is missing/)
  assert.match(lifecycleFault({ ...options, controllerUrl: 'http://recorder.example' }, {}) ?? '', /plain http/)
  assert.match(
    lifecycleFault({ ...options, controllerCa: 'hello' }, {}) ?? '',
    /--controller-ca is not a PEM certificate/,
  )
  for (const secret of ['', 'short', 'two words of a token'])
    for (const [key, flag] of [
      ['controllerToken', '--controller-token-file'],
      ['runnerToken', '--runner-token-file'],
    ] as const)
      assert.equal(
        lifecycleFault({ ...options, [key]: secret }, {}),
        `${flag} must contain one word of at least 16 characters`,
      )
})

test('a controller that acts on its nodes itself names no runner', () => {
  const runner = { SVC_ANSIBLE_RUNNER_URL: 'http://127.0.0.1:8790' }
  assert.equal(runnerFault(runner), undefined)
  assert.equal(runnerFault({ ...runner, SVC_LIFECYCLE_EMBEDDED: 'false' }), undefined)
  assert.equal(runnerFault({ SVC_LIFECYCLE_EMBEDDED: 'true' }), undefined)
  assert.match(runnerFault({ ...runner, SVC_LIFECYCLE_EMBEDDED: 'true' }) ?? '', /remove that line/)
})
