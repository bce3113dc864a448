import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AgentHealthEvent } from '../../../src/wire/nodes.ts'
import { json, serve, tempDir } from '../server.ts'

/** What an agent in trouble reports in ten minutes: one event a second. */
const EVENTS = 600
const child = path.join(import.meta.dirname, 'child.ts')

interface Controller {
  /** Answers 503 while set. */
  away: boolean
  /** How often it was asked. */
  asked: number
  /** Events as it stored them: one for each id (docs/contract/agent.md: Health events), in the order they came. */
  stored: Map<string, AgentHealthEvent>
  /** Events that came although they were stored. */
  again: number
  url: string
  until(fact: () => boolean): Promise<void>
}

async function controller(t: TestContext): Promise<Controller> {
  const waiting: { fact: () => boolean; resolve: () => void }[] = []
  const made: Controller = {
    again: 0,
    asked: 0,
    away: true,
    stored: new Map(),
    until: (fact) => new Promise((resolve) => (fact() ? resolve() : waiting.push({ fact, resolve }))),
    url: '',
  }
  const server = await serve(t, (seen, response) => {
    made.asked++
    const event = JSON.parse(seen.body.toString()) as AgentHealthEvent
    if (!made.away) {
      if (made.stored.has(event.id!)) made.again++
      made.stored.set(event.id!, event)
    }
    // Whoever waits may kill the sender now: before it has read the answer.
    for (const { fact, resolve } of waiting) if (fact()) resolve()
    json(response, made.away ? 503 : 201, { data: {} })
  })
  made.url = server.url
  return made
}

for (const store of ['jsonl', 'sqlite'])
  test(`ten minutes of events of an outage arrive once each, in order, across a kill of the agent (${store})`, async (t) => {
    const theirs = await controller(t)
    const dir = tempDir(t)
    const start = (from: number, to: number) => {
      const process_ = spawn(process.execPath, [child, theirs.url, dir, store, String(from), String(to)], {
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      t.after(() => process_.kill('SIGKILL'))
      const ended = new Promise((resolve) => process_.once('close', resolve))
      return { kill: () => process_.kill('SIGKILL') && ended }
    }
    const first = start(0, EVENTS)
    await theirs.until(() => theirs.asked >= 3)
    assert.equal(theirs.stored.size, 0)
    theirs.away = false
    await theirs.until(() => theirs.stored.size >= EVENTS / 2)
    await first.kill()
    const second = start(EVENTS, EVENTS + 1)
    await theirs.until(() => theirs.stored.size >= EVENTS + 1)
    await second.kill()
    const numbers = [...theirs.stored.values()].map((event) => event.details.n)
    assert.deepEqual(
      numbers,
      Array.from({ length: EVENTS + 1 }, (_, n) => n),
    )
    // Only the one whose answer the killed agent did not read may have come again, under the same id.
    assert.ok(theirs.again <= 1, `${theirs.again}`)
  })
