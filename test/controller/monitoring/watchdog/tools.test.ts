import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

const events = (k: ReturnType<typeof kit>, type: string) =>
  k
    .rows<{ s: string }>(`SELECT severity || ' ' || status AS s FROM health_events WHERE type = ?`, type)
    .map((row) => row.s)

test('missing programs are said once, in log and health, and it ends when they are installed', async (t) => {
  const k = kit()
  await k.tick('audio-tools')
  assert.deepEqual(events(k, 'watchdog.audio_tools_missing'), [], 'ffmpeg is here')
  await k.close()
  const dir = mkdtempSync(join(tmpdir(), 'roomtone-tools-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'ffmpeg')
  const bare = kit({ env: { SVC_FFMPEG_COMMAND: file } })
  for (let i = 0; i < 2; i++) await bare.tick('audio-tools')
  assert.deepEqual(events(bare, 'watchdog.audio_tools_missing'), ['warning open'])
  const said = bare.logged.filter((line) => /not installed: .*apt-get install ffmpeg/.test(line))
  assert.equal(said.length, 1)
  writeFileSync(file, '', { mode: 0o755 })
  await bare.tick('audio-tools')
  assert.deepEqual(events(bare, 'watchdog.audio_tools_missing'), ['warning resolved'])
  await bare.close()
})

test('an encoder that a recorder misses stands once on its node, and ends when the recorder says so', async () => {
  const k = kit()
  const { agent, id } = await k.enroll()
  const told = (type: string, severity: string) => agent.post(`/nodes/${id}/health-events`, { severity, type })
  for (let i = 0; i < 2; i++) assert.ok((await told('agent.encoder.missing', 'critical')).status < 300)
  assert.deepEqual(events(k, 'agent.encoder.missing'), ['critical open'])
  assert.ok((await told('agent.encoder.recovered', 'info')).status < 300)
  assert.deepEqual(events(k, 'agent.encoder.missing'), ['critical resolved'])
  const beat = {
    agentVersion: '1.0.0',
    hostname: 'a',
    ipAddresses: [],
    runtime: { audioBackends: [], encoder: 'missing' },
  }
  const heard = await agent.post(`/nodes/${id}/heartbeat`, beat)
  assert.equal(heard.json.data.problems.length, 1)
  const shown = async (path = '') => (await k.as('admin').get(`/nodes/${id}${path}`)).json.data
  assert.equal((await shown()).runtime.encoder, 'missing')
  assert.deepEqual((await shown()).problems, [
    { code: 'no_encoder', message: 'ffmpeg is not installed: takes are kept, but cannot be encoded' },
  ])
  // It captures all the same.
  assert.equal((await shown('/actions')).actions.startRecording.enabled, true)
  const well = await agent.post(`/nodes/${id}/heartbeat`, { ...beat, runtime: { encoder: 'ready' } })
  assert.equal(well.json.data.problems, undefined)
  assert.equal((await shown()).problems, undefined)
  await k.close()
})
