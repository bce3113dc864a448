// A box joins with a code that somebody typed: the real program against a real controller.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../src/agent/config.ts'
import { executable } from '../kit/executable.ts'
import { listening } from '../kit/http.ts'
import { kit } from '../kit/kit.ts'
import { tempDir } from './server.ts'

const program = await executable()

interface Ended {
  code: number | null
  said: string
}

async function site(t: TestContext) {
  const k = kit()
  const { close, url } = await listening(k)
  t.after(async () => {
    await close()
    await k.close()
  })
  const dir = tempDir(t)
  const env = { HOME: dir, PATH: process.env.PATH, SVC_CONTROLLER_URL: url.replace('/api/v1', ''), TMPDIR: dir }
  const { id } = await k.enroll()
  return {
    bootstrap: (args: string[], { input = '', more = {} }: { input?: string; more?: object } = {}): Promise<Ended> => {
      const child = spawn(program, ['agent', '--bootstrap', ...args], {
        cwd: dir,
        env: { ...env, ...more },
      })
      let said = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (said += piece))
      child.stdin.end(input)
      return new Promise((resolve) => child.once('close', (code) => resolve({ code, said })))
    },
    code: async () => (await k.as('admin').post(`/nodes/${id}/pairing-code`, {})).json.data.code as string,
    envFile: path.join(dir, 'recorder-agent.env'),
    dir,
    env,
    id,
    k,
  }
}

test('a code is enough to join: it names the node, whatever the settings say, and is good once', async (t) => {
  const { bootstrap, code, env, envFile, id, k } = await site(t)
  const first = await code()
  const joined = await bootstrap(['--pairing-code', first.toLowerCase().replace('-', '')])
  assert.equal(joined.code, 0, joined.said)
  const settings = fs.readFileSync(envFile, 'utf8')
  assert.match(
    settings,
    new RegExp(
      `^SVC_CONTROLLER_URL=${env.SVC_CONTROLLER_URL}\nSVC_NODE_ID=${id}\nSVC_CONTROLLER_TOKEN=svc_node_[\\w-]+\n$`,
    ),
  )
  const token = /SVC_CONTROLLER_TOKEN=(.*)/.exec(settings)?.[1]
  const beat = { agentVersion: '1', hostname: 'h' }
  assert.equal((await k.bearer(token).post(`/nodes/${id}/heartbeat`, beat)).status, 202)
  assert.ok(k.trail().includes('nodes.bootstrap.completed succeeded'))
  assert.doesNotMatch(joined.said, new RegExp(`svc_bs_|svc_node_|${first}`))

  const again = await bootstrap([`--pairing-code=${first}`])
  assert.equal(again.code, 1)
  assert.match(again.said, /refused the pairing code: .* Get a new one on the recorder's page in the console/)
  assert.equal(fs.readFileSync(envFile, 'utf8'), settings)
})

test('the code may come by the environment, or on standard input where the flag has no value', async (t) => {
  const { bootstrap, code, envFile, id } = await site(t)
  const given = await bootstrap([], { more: { SVC_NODE_ID: 'node_else', SVC_PAIRING_CODE: await code() } })
  assert.equal(given.code, 0, given.said)
  fs.rmSync(envFile)
  const typed = await bootstrap(['--pairing-code', '--alias', 'A'], { input: `${await code()}\n` })
  assert.equal(typed.code, 0, typed.said)
  assert.match(fs.readFileSync(envFile, 'utf8'), new RegExp(`^SVC_NODE_ID=${id}$`, 'm'))
})

test('at a terminal the code is asked for, and once more when it cannot be one', async (t) => {
  const { code, dir, env, envFile, k } = await site(t)
  const child = spawn('script', ['-qec', `${program} agent --bootstrap`, '/dev/null'], {
    cwd: dir,
    env,
  })
  let said = ''
  const good = await code()
  const answers = ['K7QM', good]
  child.stdout.on('data', (piece: Buffer) => {
    said += piece
    const asked = said.split('in the console: ').length - 1
    if (answers.length > 0 && asked === 3 - answers.length) child.stdin.write(`${answers.shift()}\n`)
  })
  const status = await new Promise((resolve) => child.once('close', resolve))
  assert.equal(status, 0, said)
  assert.match(said, /This is not a pairing code: it has 8 letters and digits/)
  assert.ok(fs.existsSync(envFile))
  assert.ok(k.trail().includes('nodes.pairing.completed succeeded'))
})

test('a code that is none, or beside a token, or not there, is misuse, and nothing is sent or written', async (t) => {
  const { bootstrap, code, dir, k } = await site(t)
  const good = await code()
  k.forget()
  const cases: [string[], string, RegExp][] = [
    [['--pairing-code', 'K7QM'], '', /not a pairing code: it has 8 letters and digits/],
    [['--pairing-code'], '\n', /no pairing code was given/],
    [['--pairing-code', good, '--bootstrap-token-file', '-'], 'svc_bs_x', /both given: one of them is enough/],
    [[], '', /needs a token or a pairing code/],
  ]
  for (const [args, input, words] of cases) {
    const { code: status, said } = await bootstrap(args, { input })
    assert.deepEqual([status, words.test(said)], [2, true], said)
  }
  assert.deepEqual(k.trail(), [])
  assert.deepEqual(fs.readdirSync(dir), [])
})

test('a box that cannot keep what it gets leaves the code good', async (t) => {
  const { bootstrap, code, dir } = await site(t)
  const good = await code()
  fs.writeFileSync(path.join(dir, 'file'), '')
  const bad = await bootstrap(['--pairing-code', good, '--bootstrap-env-file', 'file/agent.env'])
  assert.equal(bad.code, 1)
  assert.match(bad.said, /nothing was sent/)
  assert.equal((await bootstrap(['--pairing-code', good])).code, 0)
})

test('children of the recorder are not told the code', () => {
  const { childEnv, settings } = readConfig([], { HOME: '/home/agent', SVC_PAIRING_CODE: 'K7QM-3XPD' })
  assert.equal(settings.pairingCode, 'K7QM-3XPD')
  assert.deepEqual(Object.keys(childEnv).sort(), ['HOME', 'LC_ALL'])
})
