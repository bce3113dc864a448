import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { NoAnswer } from '../../../src/kernel/http.ts'
import { type Controller, tokenIsGood } from '../../../src/system/host/ask.ts'
import type { Present } from '../../../src/system/provision/box.ts'
import { type BoxState, type JoiningParts, joinBy } from '../../../src/system/provision/joining.ts'
import { type AgentSetup, JoinRefused } from '../../../src/system/setup/options.ts'
import type { SetupFile } from '../../../src/wire/provision.ts'
import { entryOf, fileOf, tokenOf } from './kit.ts'

const fresh: BoxState = {
  box: { hostname: 'box', macs: [], serials: [] },
  joined: undefined,
  mayReplace: false,
  trouble: undefined,
  takes: { running: 0, undelivered: 0 },
  unfinished: false,
}

const ADDRESS = 'https://controller.example'
const of = (nodeId: string, more: Partial<Present> = {}): Present => ({
  allowInsecure: false,
  ca: 'PRESENT',
  nodeId,
  url: ADDRESS,
  ...more,
})

/** Joins; `good`: tokens the controller would take, each gone once it is used; `fail`: what the setup ends with. */
function world(good: number[], { fail, state = {} }: { fail?: () => Error; state?: Partial<BoxState> } = {}) {
  const tokens = new Set(good.map(tokenOf))
  const setups: AgentSetup[] = []
  const said: string[] = []
  const asked: Controller[] = []
  const parts: JoiningParts = {
    isGood: async (controller, { bootstrapToken }) => {
      asked.push(controller)
      return tokens.has(bootstrapToken)
    },
    now: () => '2026-03-03T08:00:00.000Z',
    say: (line) => said.push(line),
    setUp: async (options) => {
      setups.push(options)
      if (fail) throw fail()
      return { changed: ['all of it'] }
    },
    signal: new AbortController().signal,
    state: { ...fresh, ...state },
    waitSeconds: 0,
  }
  const join = (file: SetupFile) => joinBy(file, parts)
  return { asked, join, parts, said, tokens, setups }
}
const refused = (why: RegExp) => (e: unknown) => e instanceof UserError && why.test(e.message)

test('the first entry whose token is still good is taken, and the options say all that the stick says', async () => {
  const w = world([2, 3])
  const file = fileOf([entryOf(1), entryOf(2), entryOf(3)], { controllerCa: 'PEM', replace: true })
  const outcome = await w.join(file)
  assert.deepEqual(outcome, {
    nodeId: 'node_2',
    result: 'done',
    words: 'This box has joined as "Room 2" (node_2) and is online.',
  })
  assert.deepEqual(w.setups, [
    {
      alias: 'Room 2',
      allowInsecure: false,
      bootstrapToken: tokenOf(2),
      controllerCa: 'PEM',
      controllerUrl: 'https://controller.example',
      nodeId: 'node_2',
      packages: true,
      rejoin: true,
      replace: true,
      room: 'R2',
      site: 'North',
      start: true,
    },
  ])
  assert.ok(w.said.some((line) => /"Room 1" .*used already/.test(line)))
  assert.ok(!w.said.join().includes('svc_bs_'))
})

test('what the box still lacks stands in the last line', async () => {
  const w = world([1])
  w.parts.setUp = async () => ({ changed: [], warnings: ['It has no capture device.'] })
  const { words } = await w.join(fileOf([entryOf(1)]))
  assert.equal(words, 'This box has joined as "Room 1" (node_1) and is online. It has no capture device.')
})

test('expired tokens say so, and nothing of the box is touched', async () => {
  const w = world([])
  const outcome = await w.join(fileOf([entryOf(1, { expiresAt: '2026-03-03T07:00:00.000Z' }), entryOf(2)]))
  assert.equal(outcome.result, 'refused')
  assert.ok(!w.said.some((line) => /expired|used/.test(line)), 'the outcome says it, once')
  assert.match(outcome.words, /"Room 1" \(node_1\) expired at 2026-03-03T07:00:00\.000Z.*"Room 2" .*used already/)
  assert.deepEqual(w.setups, [])
})

test('another box that was faster costs nothing but the next entry', async () => {
  const w = world([1, 2])
  w.parts.setUp = async (options) => {
    w.setups.push(options)
    if (options.nodeId === 'node_2') return { changed: [] }
    w.tokens.delete(tokenOf(1))
    throw new JoinRefused('the controller refused the token')
  }
  assert.equal((await w.join(fileOf([entryOf(1), entryOf(2)]))).nodeId, 'node_2')
})

test('a setup that fails after this box has spent the token says why, and tries no other room', async () => {
  const w = world([1, 2])
  w.parts.setUp = async (options) => {
    w.setups.push(options)
    w.tokens.delete(tokenOf(1))
    throw new UserError('the service does not start')
  }
  const outcome = await w.join(fileOf([entryOf(1), entryOf(2)]))
  assert.deepEqual([outcome.result, outcome.nodeId, w.setups.length], ['failed', 'node_1', 1])
  assert.match(outcome.words, /does not start.*The token has been used: write a new stick/)
})

test('a setup that fails for another reason is not tried with the next room', async () => {
  const w = world([1, 2], { fail: () => new UserError('ffmpeg is missing: install it') })
  const outcome = await w.join(fileOf([entryOf(1), entryOf(2)]))
  assert.deepEqual([outcome.result, outcome.nodeId, w.setups.length], ['failed', 'node_1', 1])
  assert.match(outcome.words, /ffmpeg is missing/)
})

test('a controller that does not answer fails the try, and touches nothing', async () => {
  const w = world([1])
  w.parts.isGood = async () => {
    throw new NoAnswer('https://controller.example does not answer: ECONNREFUSED')
  }
  const outcome = await w.join(fileOf([entryOf(1)]))
  assert.deepEqual([outcome.result, w.setups], ['failed', []])
  assert.match(outcome.words, /ECONNREFUSED\. Nothing was changed/)
})

test('a controller that comes late is waited for', async () => {
  const w = world([1])
  const { isGood } = w.parts
  let asked = 0
  w.parts.isGood = async (file, entry) => {
    if (++asked <= 2) throw new NoAnswer('not yet')
    return await isGood(file, entry)
  }
  w.parts.waitSeconds = 60
  assert.equal((await w.join(fileOf([entryOf(1)]))).result, 'done')
  assert.deepEqual(
    w.said.filter((line) => line.startsWith('not yet')),
    ['not yet; trying again.'],
  )
})

test('a box that belongs to a node stays as it is, unless the file says replace', async () => {
  const other = world([1], { state: { joined: of('node_9') } })
  await assert.rejects(other.join(fileOf([entryOf(1)])), refused(/belongs to the node node_9 already.*--replace/))
  assert.deepEqual(other.setups, [])
  const same = world([1], { state: { joined: of('node_1') } })
  assert.equal((await same.join(fileOf([entryOf(1)]))).result, 'unchanged')
  assert.deepEqual(same.setups, [])
  const stopped = world([1], { state: { joined: of('node_1'), trouble: 'But it does not run.' } })
  assert.match((await stopped.join(fileOf([entryOf(1)]))).words, /nothing was changed\. But it does not run\.$/)
  const replacing = world([1], { state: { joined: of('node_9') } })
  assert.equal((await replacing.join(fileOf([entryOf(1)], { replace: true }))).result, 'done')
  // The stick stays in the box: its token is spent, and the next power-on changes nothing.
  const next = world([], { state: { joined: of('node_1') } })
  assert.equal((await next.join(fileOf([entryOf(1)], { replace: true }))).result, 'unchanged')
})

test('no take is cut or orphaned by a stick that replaces', async () => {
  const file = fileOf([entryOf(1)], { replace: true })
  const running = world([1], { state: { joined: of('node_1'), takes: { running: 1, undelivered: 1 } } })
  await assert.rejects(running.join(file), refused(/is recording as node_1/))
  const holding = { takes: { running: 0, undelivered: 2 } }
  await assert.rejects(
    world([1], { state: { ...holding, joined: of('node_9') } }).join(file),
    refused(/holds 2 takes of node_9/),
  )
  // The same node anew: its controller still wants these takes.
  assert.equal((await world([1], { state: { ...holding, joined: of('node_1') } }).join(file)).result, 'done')
})

test('a power cut after the token was spent: the next power-on ends the setup without it', async () => {
  const w = world([], { state: { joined: of('node_1'), unfinished: true } })
  assert.equal((await w.join(fileOf([entryOf(1)]))).result, 'done')
  assert.equal(w.setups[0]?.bootstrapToken, undefined)
})

test('only a 401 spends a token; a controller that is busy says nothing about it', () => {
  const answer = (status: number) => tokenIsGood({ status }, 'https://controller.example')
  assert.deepEqual([200, 401, 404].map(answer), [true, false, true])
  for (const status of [429, 500, 503]) assert.throws(() => answer(status), NoAnswer)
})

const STRANGE = {
  allowInsecure: true,
  controllerCa: 'STRANGE',
  controllerUrl: 'https://stranger.example',
  replace: true,
}

test('a box that has joined asks the controller it has, and stays with it, whatever the file says of another', async () => {
  const w = world([1], { state: { joined: of('node_9') } })
  assert.equal((await w.join(fileOf([entryOf(1)], STRANGE))).result, 'done')
  assert.deepEqual(w.asked, [{ allowInsecure: false, ca: 'PRESENT', url: ADDRESS }])
  const [options] = w.setups
  assert.deepEqual([options?.allowInsecure, options?.controllerCa, options?.controllerUrl], [false, undefined, ADDRESS])
})

test('without a word of its controller a joined box is not taken over, and says how root permits it', async () => {
  const strange = fileOf([entryOf(1)], STRANGE)
  const spent = world([], { state: { joined: of('node_9') } })
  const outcome = await spent.join(strange)
  assert.deepEqual([outcome.result, spent.setups], ['refused', []])
  assert.match(
    outcome.words,
    /present controller \(https:\/\/controller\.example\) was asked.*SVC_PROVISION_REPLACE=true/,
  )
  for (const present of [{ allowInsecure: true }, { url: 'http://controller.example' }, { url: '' }]) {
    const w = world([1], { state: { joined: of('node_9', present) } })
    await assert.rejects(w.join(strange), refused(/cannot vouch for this stick.*SVC_PROVISION_REPLACE=true/))
    const own = world([1], { state: { joined: of('node_1', present) } })
    assert.equal((await own.join(strange)).result, 'unchanged')
    assert.deepEqual([w.asked, w.setups, own.asked, own.setups], [[], [], [], []])
  }
})

test('where root permits it, the file counts: another controller, its authority, and allowInsecure', async () => {
  for (const present of [{}, { allowInsecure: true, url: 'http://controller.example' }]) {
    const w = world([1], { state: { joined: of('node_9', present), mayReplace: true } })
    assert.equal((await w.join(fileOf([entryOf(1)], STRANGE))).result, 'done')
    assert.deepEqual(w.asked, [{ allowInsecure: true, ca: 'STRANGE', url: 'https://stranger.example' }])
    const [options] = w.setups
    assert.deepEqual(
      [options?.allowInsecure, options?.controllerCa, options?.controllerUrl],
      [true, 'STRANGE', STRANGE.controllerUrl],
    )
  }
})

test('a setup that was cut off is ended with the controller the box has joined, not with that of another stick', async () => {
  const w = world([], { state: { joined: of('node_1'), unfinished: true } })
  assert.equal((await w.join(fileOf([entryOf(1)], STRANGE))).result, 'done')
  const [options] = w.setups
  assert.deepEqual([options?.allowInsecure, options?.controllerCa, options?.controllerUrl], [false, undefined, ADDRESS])
})
