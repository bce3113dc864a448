import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { UserError } from '../../../src/kernel/fail.ts'
import { finishUndo, runSteps } from '../../../src/system/setup/engine.ts'
import type { Step } from '../../../src/system/setup/journal.ts'
import { Journal } from '../../../src/system/setup/journal.ts'
import { benchIn, stepsIn, writingIn } from './steps.ts'

let dir: string
let said: string[]
const at = (...parts: string[]) => path.join(dir, ...parts)
const places = () => benchIn(dir)
const STEPS = () => stepsIn(dir)
const writing = (name: string, content: string) => writingIn(dir, name, content)
const CUT = path.join(import.meta.dirname, 'cut.ts')
const parts = (signal = new AbortController().signal) => ({ say: (line: string) => void said.push(line), signal })

beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-setup-'))
  said = []
})
afterEach(() => {
  for (const left of [dir, places().lock]) fs.rmSync(left, { force: true, recursive: true })
})

/** Files with content and mode, links with their target; paths from `dir`. */
const listing = (): string[] =>
  fs
    .readdirSync(dir, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const file = path.join(entry.parentPath, entry.name)
      const what = entry.isSymbolicLink()
        ? fs.readlinkSync(file)
        : entry.isFile()
          ? fs.readFileSync(file, 'latin1')
          : ''
      return `${path.relative(dir, file)} ${(fs.lstatSync(file).mode & 0o7777).toString(8)} ${what}`
    })
    .sort()

const failing: Step = {
  name: 'failing',
  done: () => false,
  apply: () => {
    throw new UserError('the disk is on fire')
  },
}

function before(): string[] {
  fs.writeFileSync(at('settings'), 'written by an operator\n\xff', { encoding: 'latin1', mode: 0o640 })
  fs.symlinkSync('old', at('program'))
  return listing()
}

test('what was settled stays when the rest is taken back', async () => {
  const was = before()
  const settling: Step = {
    name: 'settling',
    done: () => false,
    apply: (journal) => journal.settle(at('settings'), at('never-touched')),
  }
  await assert.rejects(runSteps([...STEPS(), settling, failing], parts(), places()), /on fire/)
  const settled = was.map((line) => (line.startsWith('settings ') ? 'settings 640 ours' : line))
  assert.deepEqual(listing(), settled)
})

test('what is done already is not done again', async () => {
  before()
  const first = await runSteps(STEPS(), parts(), places())
  assert.deepEqual(first.changed, ['new/deep/file', 'settings', 'program', 'new/second'])
  const after = listing()
  assert.deepEqual(await runSteps(STEPS(), parts(), places()), { changed: [] })
  assert.deepEqual(listing(), after)
  assert.equal(fs.existsSync(places().journal), false)
})

test('a step that fails takes back all that went before: contents, modes, links and directories', async () => {
  const untouched = before()
  await assert.rejects(runSteps([...STEPS(), failing], parts(), places()), /on fire/)
  assert.deepEqual(listing(), untouched)
  assert.deepEqual(said.at(-1), 'Undoing the changes ...')
})

test('what a second change of a file finds is not what it goes back to', async () => {
  const untouched = before()
  const again = { ...writing('settings', 'twice'), done: () => false }
  await assert.rejects(runSteps([...STEPS(), again, failing], parts(), places()), /on fire/)
  assert.deepEqual(listing(), untouched)
})

test('what the disk says becomes a sentence that says what to do', async () => {
  const untouched = before()
  const full: Step = { name: 'the program', done: () => false, apply: () => fs.writeFileSync('/dev/full', 'x') }
  await assert.rejects(runSteps([writing('settings', 'ours'), full], parts(), places()), (e) => {
    assert.ok(e instanceof UserError)
    assert.match(e.message, /^the program: .*the disk is full\. Make room there$/)
    return true
  })
  assert.deepEqual(listing(), untouched)
})

test('a signal between two steps takes back the first', async () => {
  const untouched = before()
  const aborting = new AbortController()
  const stop: Step = {
    name: 'stop',
    done: () => false,
    apply: () => aborting.abort(new UserError('stopped by a signal')),
  }
  const steps = [writing('settings', 'ours'), stop, writing('never', '')]
  await assert.rejects(runSteps(steps, parts(aborting.signal), places()), /stopped by a signal/)
  assert.deepEqual(listing(), untouched)
})

test('two at once: the second is told to wait, and changes nothing', async () => {
  before()
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const apply = () => {
    begun.resolve()
    return over.promise
  }
  const first = runSteps([{ name: 'waiting', done: () => false, apply }], parts(), places())
  await begun.promise
  await assert.rejects(runSteps(STEPS(), parts(), places()), /another setup is running on this box/)
  over.resolve()
  await first
})

/** The same steps in a process of their own that dies where `dies` says: before its change, or right after it. */
async function cutOff(step: number, when: 'before' | 'after'): Promise<void> {
  const child = spawn(process.execPath, [CUT, dir, String(step), when], { stdio: 'inherit' })
  const [, signal] = await once(child, 'close')
  assert.equal(signal, 'SIGKILL')
}

for (const when of ['before', 'after'] as const)
  for (const step of [0, 1, 2, 3]) {
    test(`killed ${when} the change of step ${step}: the next run ends it`, async () => {
      before()
      await cutOff(step, when)
      await runSteps(STEPS(), parts(), places())
      assert.deepEqual(said[0], 'An earlier setup was interrupted: continuing it.')
      assert.deepEqual((await runSteps(STEPS(), parts(), places())).changed, [])
      assert.equal(fs.existsSync(places().journal), false)
    })
    test(`killed ${when} the change of step ${step}: a next run that fails takes both back`, async () => {
      const untouched = before()
      await cutOff(step, when)
      await assert.rejects(runSteps([failing], parts(), places()), /on fire/)
      assert.deepEqual(listing(), untouched)
    })
  }

test('a run cut off while it took its changes back is taken back to the end, before anything else is read', async () => {
  const untouched = before()
  await cutOff(3, 'after')
  new Journal(places().journal).beginUndo()
  await finishUndo(parts(), places())
  assert.deepEqual(listing(), untouched)
  assert.equal((await runSteps(STEPS(), parts(), places())).changed.length, 4)
})
