// Requests of any kind, in a row, to one controller that is never started anew: no 5xx, no crash, memory flat. As a program:
// scripts/node test/e2e/requests.ts [--rounds 1000000] [--seed N]
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as http from 'node:http'
import * as path from 'node:path'
import { parseArgs } from 'node:util'
import { seed as sow } from '../conventions/world.ts'
import { type Kit, kit } from '../kit/kit.ts'
import { allocatorOf } from '../kit/unit.ts'
import { Controller, House } from '../kit/whole.ts'
import { dice, inWords, type Made, RARE, RUNNER, requestFor } from '../sweeps/fuzz.ts'
import { peerless } from '../sweeps/sweep.ts'
import { assertFlat, residentMiB } from './memory.ts'

/** Requests under way at once. */
const TOGETHER = 8
/** After so many the world is as it was: what they deleted is there again. */
const WORLD = 500
const ANSWER_MS = 60_000
const KEY = 'kit-secret-key-0123456789'
const UNBOUNDED = '1000000000'
const LIMITS = {
  SVC_LOGIN_FAILURE_LIMIT: UNBOUNDED,
  SVC_STRANGER_REFUSALS_PER_MINUTE: UNBOUNDED,
  SVC_TOKEN_FAILURE_LIMIT: UNBOUNDED,
  SVC_USER_REQUESTS_PER_MINUTE: UNBOUNDED,
}

/** A world in a database of its own, and the routes that are asked. */
function sown(file: string): Kit {
  const k = kit({ env: { SVC_RUNNER_TOKEN: RUNNER }, file })
  sow(k)
  for (const role of ['owner', 'viewer', 'auditor'] as const) k.as(role)
  k.person('scoped', ['operator'], [['room', 'hall']])
  // Sessions that nobody used for months have ended.
  k.sql('UPDATE sessions SET last_seen_at = ?', new Date().toISOString())
  return k
}

/** All of the world at once, also while the controller has its database open. */
const plant = (k: Kit, file: string) => k.db.raw.backup(file, { progress: () => 2 ** 30 })

const agent = new http.Agent({ keepAlive: true, maxSockets: TOGETHER })

/** The status and the beginning of the answer; 0 where there is none. */
function send(
  url: string,
  { body, headers, method, path: below, token }: Made,
): Promise<[status: number, text: string]> {
  // A length that is not the body's is a connection of its own kind: test/sweeps/badheaders.test.ts.
  const { 'content-length': _, ...own } = headers
  const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve) => {
    const options = { agent, headers: { ...bearer, ...length, ...own }, method, timeout: ANSWER_MS }
    const request = http.request(`${url}${below}`, options, (response) => {
      const status = response.statusCode ?? 0
      let text = ''
      const done = () => resolve([status, text])
      if (response.headers['content-type'] === 'text/event-stream') {
        done()
        request.destroy()
        return
      }
      response.setEncoding('utf8').on('data', (part: string) => {
        if (text.length < 500) text += part
      })
      response.once('close', done)
    })
    request.once('timeout', () => request.destroy(new Error(`no answer within ${ANSWER_MS} ms`)))
    request.once('error', (e) => resolve([0, e.message]))
    request.end(body)
  })
}

const isPage = (below: string): boolean => /^\/(a\/|docs|metrics|healthz|readyz)/.test(below)

export interface Raged {
  answers: Record<string, number>
  /** What must not be, in words. */
  findings: string[]
  /** Resident memory of the controller along the way, MiB. */
  memory: number[]
}

/** So many requests; what came of them. */
export async function rage(count: number, seed: number, tell: (line: string) => void): Promise<Raged> {
  const house = await House.open()
  const k = sown(house.path('sown.db'))
  const controller = new Controller(house, {
    ...allocatorOf('controller'),
    ...LIMITS,
    SVC_RUNNER_TOKEN: RUNNER,
    SVC_SECRET_KEY: KEY,
  })
  fs.mkdirSync(controller.data)
  const file = path.join(controller.data, 'roomtone.db')
  await plant(k, file)
  await controller.start()
  const d = dice(seed)
  const raged: Raged = { answers: {}, findings: [], memory: [] }
  let sent = 0
  const one = async (): Promise<void> => {
    const r = d.of(k.routes)
    if (RARE.test(r.path) && !d.chance(0.1)) return
    const made = requestFor(d, r)
    const number = ++sent
    const url = isPage(made.path) ? controller.url : `${controller.url}/api/v1`
    const [status, text] = await send(url, made)
    raged.answers[status] = (raged.answers[status] ?? 0) + 1
    if (status === 0 || (status >= 500 && !peerless(r, status)))
      raged.findings.push(`request ${number}: ${status} ${inWords(made)} -> ${text.slice(0, 200)}`)
  }
  try {
    while (sent < count && raged.findings.length < 20) {
      await plant(k, file)
      const end = Math.min(count, sent + WORLD)
      await Promise.all(
        Array.from({ length: TOGETHER }, async () => {
          while (sent < end) await one()
        }),
      )
      assert.equal(
        controller.program.child.exitCode,
        null,
        `the controller runs: ${controller.program.said().slice(-3000)}`,
      )
      raged.memory.push(residentMiB(controller.program.child.pid!))
      if (sent % (10 * WORLD) === 0) tell(`${sent} requests, ${raged.memory.at(-1)!.toFixed(0)} MiB`)
    }
    return raged
  } finally {
    await k.close()
    agent.destroy()
    await house.close()
  }
}

/** Throws with what was found. */
export async function rounds(count: number, seed: number, tell: (line: string) => void): Promise<void> {
  const { answers, findings, memory } = await rage(count, seed, tell)
  tell(`seed ${seed}: ${count} requests, answers by status ${JSON.stringify(answers)}`)
  assert.deepEqual(findings, [])
  tell(assertFlat('controller', memory))
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { rounds: { default: '20000', type: 'string' }, seed: { type: 'string' } } })
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e6))
  await rounds(Number(values.rounds), seed, (line) => void process.stdout.write(`${line}\n`))
  // What the sweeps have opened for themselves.
  process.exit()
}
