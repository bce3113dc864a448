// The installer and the setup with a pairing code in place of a token. What they then do on a box is in test/vm.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { pairBox, withAsked } from '../../../src/system/host/pairing.ts'
import { run } from '../../../src/system/host/run.ts'
import { typedInstallLine } from '../../../src/wire/install.ts'
import { listening } from '../../kit/http.ts'
import { kit } from '../../kit/kit.ts'
import { scratchDir } from '../../kit/scratch.ts'

const skip = process.getuid?.() === 0 ? false : 'only root can install'

async function site(t: TestContext) {
  const k = kit()
  const { close, url } = await listening(k)
  t.after(async () => {
    await close()
    await k.close()
  })
  const { id } = await k.enroll()
  return {
    base: url.replace('/api/v1', ''),
    code: async () => (await k.as('admin').post(`/nodes/${id}/pairing-code`, {})).json.data.code as string,
    id,
    k,
  }
}

/** A shell whose /opt is its own, and which has settings of no recorder. */
const onBareBox = (line: string, more: object = {}) =>
  run('unshare', ['-m', 'sh', '-c', `mount -t tmpfs tmpfs /opt && ${line}`], { timeoutMs: 60_000, ...more })

test('the script that the controller serves trades a code for the node and its token, and goes on with them', {
  skip,
}, async (t) => {
  const { base, code, id, k } = await site(t)
  const script = path.join(scratchDir('roomtone-pair-'), 'install.sh')
  fs.writeFileSync(script, await (await fetch(`${base}/install.sh`)).text())
  t.after(() => fs.rmSync(path.dirname(script), { recursive: true }))
  const good = await code()
  k.forget()
  // This controller has no release: that it asks for one as the node is as far as the code carries.
  const went = await onBareBox(`sh ${script} --pairing-code ${good.toLowerCase()}`)
  assert.match(went.stderr, new RegExp(`/api/v1/nodes/${id}/agent-release/`))
  assert.ok(k.trail().includes('nodes.pairing.completed succeeded'), went.stderr)
  assert.doesNotMatch(went.stdout + went.stderr, /svc_bs_/)
  for (const [args, words] of [
    [`--pairing-code ${good}`, /refuses the pairing code: .* Get a new one on the recorder's page/],
    ['--pairing-code K7QM', /this is not a pairing code/],
    [`--pairing-code ${good} --bootstrap-token svc_bs_x`, /both given: one of them is enough/],
  ] as const) {
    const { code: status, stderr } = await onBareBox(`sh ${script} ${args}`)
    assert.notEqual(status, 0)
    assert.match(stderr, words)
  }
})

test('the short line asks for the code at the terminal, while the script is still on its pipe', { skip }, async (t) => {
  const { base, code, k } = await site(t)
  const good = await code()
  const line = typedInstallLine({ controllerUrl: base }).replace('| sudo sh', '| sh')
  const keys = new PassThrough()
  const typed = await onBareBox(`script -qec "${line}" /dev/null`, {
    input: keys,
    onOutput: (piece: string) => void (piece.includes('in the console: ') && keys.end(`${good}\n`)),
  })
  assert.match(typed.stdout, /Pairing code, from the recorder's page in the console: /)
  assert.ok(k.trail().includes('nodes.pairing.completed succeeded'), typed.stdout)
})

test('the setup trades a code once; what the controller says is said in words', async (t) => {
  const { base, code, id, k } = await site(t)
  const controller = { allowInsecure: true, url: base }
  const signal = AbortSignal.timeout(60_000)
  const good = await code()
  const paired = await pairBox(controller, good, signal)
  assert.equal(paired.nodeId, id)
  assert.match(paired.token, /^svc_bs_/)
  await assert.rejects(pairBox(controller, good, signal), /refused the pairing code/)
  for (let n = 0; n < 8; n++) await assert.rejects(pairBox(controller, 'AAAAAAAA', signal), /refused the pairing code/)
  await assert.rejects(pairBox(controller, 'AAAAAAAA', signal), /too many pairing codes were tried: wait a minute/)
  await assert.rejects(pairBox({ ...controller, url: 'http://127.0.0.1:1' }, good, signal), /does not answer/)
  assert.equal(k.trail().filter((row) => row === 'nodes.pairing.completed succeeded').length, 1)
})

test('the flag without a value asks', () => {
  assert.deepEqual(withAsked(['--pairing-code']), ['--pairing-code=-'])
  assert.deepEqual(withAsked(['--pairing-code', '--no-start']), ['--pairing-code=-', '--no-start'])
  for (const args of [
    ['--pairing-code', 'K7QM-3XPD'],
    ['--pairing-code=K'],
    ['agent', '--no-start'],
    ['--pairing-code', '-'],
  ])
    assert.deepEqual(withAsked(args), args)
})
