import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { tempDir } from '../agent/server.ts'

const CHILD = path.join(import.meta.dirname, 'logsink.child.ts')
/** About 5 MiB: far more than a pipe and the sink hold. */
const MANY = 50_000

interface Speaker {
  child: ChildProcess
  /** Resolves when the child has noted the word. */
  noted(word: string): Promise<void>
}

/** `patience`: ms it waits for its reader when told to end. */
function speaker(t: TestContext, dir: string, out: 'pipe' | number, count: number, patience = 30_000): Speaker {
  const notes = path.join(dir, 'notes')
  const args = [CHILD, notes, String(count), String(patience)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', out, 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const noted = async (word: string) => {
    while (!fs.existsSync(notes) || !fs.readFileSync(notes, 'utf8').includes(word)) await sleep(20)
  }
  return { child, noted }
}

const ended = async (child: ChildProcess): Promise<unknown> => child.exitCode ?? (await once(child, 'exit'))[0]

/** Every line is whole, in order, and the missing ones are counted where they would have been. */
function judge(said: string, count: number): number {
  const lines = said
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  let next = 0
  let lost = 0
  for (const { lines: missing, n } of lines.filter(({ n }) => n !== -1))
    if (missing === undefined) assert.equal(n, next++)
    else {
      lost += missing
      next += missing
    }
  assert.equal(next, count)
  return lost
}

/** A real pipe, which a spawned program of Node is not given by itself. */
function pipe(t: TestContext): { dir: string; fd: number; fifo: string } {
  const dir = tempDir(t)
  const fifo = path.join(dir, 'pipe')
  execFileSync('mkfifo', [fifo])
  return { dir, fd: fs.openSync(fifo, fs.constants.O_RDWR), fifo }
}

test('a pipe that nobody reads does not stop the loop, and whoever reads again is told what is missing', async (t) => {
  const { dir, fd, fifo } = pipe(t)
  const { child, noted } = speaker(t, dir, fd, MANY)
  await noted('ready')
  // Another program on the same pipe makes it wait again for all that share this opening of it.
  spawnSync('true', { stdio: ['ignore', fd, 'ignore'] })
  child.kill('SIGUSR2')
  await noted('turns')
  const reader = spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'inherit'] })
  fs.closeSync(fd)
  const all = text(reader.stdout)
  child.kill('SIGTERM')
  assert.equal(await ended(child), 0)
  assert.ok(judge(await all, MANY) > MANY / 2)
})

test('a socket that nobody reads, as the journal has one, does not stop the loop either', async (t) => {
  const { child, noted } = speaker(t, tempDir(t), 'pipe', MANY)
  await noted('ready')
  child.kill('SIGUSR2')
  await noted('turns')
  const all = text(child.stdout!)
  child.kill('SIGTERM')
  assert.equal(await ended(child), 0)
  assert.ok(judge(await all, MANY) > MANY / 2)
})

test('the end does not wait for a reader that stands still', async (t) => {
  for (const way of ['pipe', 'socket']) {
    const { dir, fd } = pipe(t)
    const { child, noted } = speaker(t, dir, way === 'pipe' ? fd : 'pipe', MANY, 200)
    await noted('ready')
    child.kill('SIGUSR2')
    await noted('turns')
    child.kill('SIGTERM')
    assert.equal(await ended(child), 0, way)
    fs.closeSync(fd)
  }
})

test('a reader that is gone is no error', async (t) => {
  const { child, noted } = speaker(t, tempDir(t), 'pipe', 3)
  await noted('ready')
  child.stdout!.destroy()
  child.kill('SIGUSR2')
  await noted('turns')
  child.kill('SIGTERM')
  assert.equal(await ended(child), 0)
})

test('what a file takes is in it, in order and behind what was there, when the program ends', async (t) => {
  const dir = tempDir(t)
  const file = path.join(dir, 'log')
  fs.writeFileSync(file, '{"n":-1}\n')
  const fd = fs.openSync(file, 'a')
  const { child, noted } = speaker(t, dir, fd, 5000)
  fs.closeSync(fd)
  await noted('ready')
  child.kill('SIGUSR2')
  await noted('turns')
  child.kill('SIGTERM')
  assert.equal(await ended(child), 0)
  assert.equal(judge(fs.readFileSync(file, 'utf8'), 5000), 0)
})
