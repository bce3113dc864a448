// A controller that has been taken over must not be able to run programs on the recorders: not by the name of a program, and
// not by a device or an option that starts one.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { type CaptureWish, refusalOf } from '../../../src/agent/capture/rights.rules.ts'
import { readConfig } from '../../../src/agent/config.ts'
import { captureRights, liveJobSettings } from '../../../src/agent/parts.ts'
import type { NodeConfig } from '../../../src/wire/nodes.ts'
import { job, quick, world } from '../jobs/kit.ts'
import { tempDir } from '../server.ts'

const rightsOf = (env: Record<string, string> = {}) => captureRights(readConfig([], env).settings)
const wish = (more: Partial<CaptureWish> = {}): CaptureWish => ({
  backend: 'alsa',
  device: 'hw:CARD=Desk,DEV=0',
  program: 'arecord',
  ...more,
})

test('the three known programs may be asked for, others where the recorder says so', () => {
  for (const program of ['arecord', 'jack_capture', 'pw-record'])
    assert.equal(refusalOf(wish({ program }), rightsOf()), undefined)
  for (const program of ['sh', '/tmp/arecord', 'ffmpeg', './arecord'])
    assert.equal(
      refusalOf(wish({ program }), rightsOf()),
      `capture_command_not_allowed: ${program} (SVC_CAPTURE_ALLOWED_COMMANDS of the recorder)`,
    )
  const rights = rightsOf({ SVC_CAPTURE_ALLOWED_COMMANDS: 'arecord, ffmpeg', SVC_CAPTURE_COMMAND: '/opt/site/rec' })
  for (const program of ['ffmpeg', '/opt/site/rec']) assert.equal(refusalOf(wish({ program }), rights), undefined)
  assert.match(refusalOf(wish({ program: 'pw-record' }), rights) ?? '', /not_allowed/)
  assert.equal(refusalOf(wish({ argsTemplate: '-f alsa -i x', program: 'ffmpeg' }), rights), undefined)
})

test('a device is a plain name; nothing of it is a file, a command or a definition', () => {
  const plain = [
    ...[
      'default',
      'room',
      'hw:1',
      'hw:1,0,3',
      'plughw:CARD=Desk,DEV=0',
      'sysdefault:CARD=A-b_1',
      'dsnoop:0',
      'profile',
    ],
    ...['bluealsa:DEV=00:11:22:33:44:55,PROFILE=sco', 'plug:room', 'tee_room'],
  ]
  for (const device of plain) assert.equal(refusalOf(wish({ device }), rightsOf()), undefined, device)
  const strange = [
    ...["tee:null,'|id',raw", 'file:/tmp/x', 'file:x', 'tee:null,x,raw', 'plug:tee:null', 'plug:SLAVE=file', 'FILE:x'],
    ...['plug:{SLAVE="x"}', '-D', '', 'hw:0 ', 'hw:$HOME', '|id', "plug:'room'", 'hw:0\n'],
  ]
  for (const device of strange)
    assert.equal(refusalOf(wish({ device }), rightsOf()), `capture_device_not_allowed: ${device}`, device)
  const own = rightsOf({ SVC_CAPTURE_DEVICE: "plug:'room'" })
  assert.equal(refusalOf(wish({ device: "plug:'room'" }), own), undefined)
  // What other programs are told as a value is no definition.
  assert.equal(
    refusalOf(wish({ backend: 'jack', device: 'a b:out_1', program: 'jack_capture' }), rightsOf()),
    undefined,
  )
})

test('a template of the controller shapes a capture and does nothing else; one of the recorder is not judged', () => {
  const good: [string, string][] = [
    ['arecord', '-q -t raw -D {device} -f {format} -r {sample_rate} -c {channels} {output}'],
    ['arecord', '--device={device} --buffer-time=500000 --disable-resample -'],
    ['jack_capture', '--channels {channels} --port system:capture_* --write-to-stdout -dc -ns'],
    ['pw-record', '--record --raw --target {device} --rate {sample_rate} --channels {channels} -'],
  ]
  for (const [program, argsTemplate] of good)
    assert.equal(refusalOf(wish({ argsTemplate, program }), rightsOf()), undefined, argsTemplate)
  const bad: [string, string, string][] = [
    [
      'arecord',
      '-t raw /var/lib/roomtone/agent-login/.ssh/authorized_keys',
      '/var/lib/roomtone/agent-login/.ssh/authorized_keys',
    ],
    ['arecord', '--process-id-file x -', '--process-id-file'],
    ['arecord', '--process-id=x -', '--process-id=x'],
    ['arecord', `-D "tee:null,'|id',raw" -`, "tee:null,'|id',raw"],
    ['arecord', `--device="file:'|id'" -`, "file:'|id'"],
    ['arecord', '-Dfile:x -', '-Dfile:x'],
    ['arecord', '{device}', '{device}'],
    ['arecord', '- -D', '-D'],
    ['jack_capture', '--hook-open-cmd id', '--hook-open-cmd'],
    ['jack_capture', '-Hoc id', '-Hoc'],
    ['pw-record', '--raw file.raw', 'file.raw'],
  ]
  for (const [program, argsTemplate, word] of bad)
    assert.equal(refusalOf(wish({ argsTemplate, program }), rightsOf()), `capture_template_not_allowed: ${word}`)
  const own = rightsOf({ SVC_CAPTURE_ARGS_TEMPLATE: '--process-id-file x {output}' })
  assert.equal(refusalOf(wish({ argsTemplate: '--process-id-file x {output}' }), own), undefined)
})

test('a job that would run a program fails with the reason, and nothing was run', async (t) => {
  const dir = tempDir(t)
  const [touched, program] = [path.join(dir, 'touched'), path.join(dir, 'program')]
  fs.writeFileSync(program, `#!/bin/sh\ntouch ${touched}\n`, { mode: 0o755 })
  const rows: [NodeConfig['audioDefaults'], string, RegExp][] = [
    [{ captureCommand: program }, 'hw:1', /^capture_command_not_allowed: .*program/],
    [{ captureBackend: 'jack', captureCommand: 'sh' }, 'x', /^capture_command_not_allowed: sh/],
    [{}, `tee:null,'|touch ${touched}',raw`, /^capture_device_not_allowed: tee:null/],
    [{ captureArgsTemplate: `-d 1 -D "tee:null,'|touch ${touched}',raw" -` }, 'null', /^capture_template_not_allowed/],
  ]
  for (const [audioDefaults, captureDevice, reason] of rows) {
    const { apply, live } = liveJobSettings(readConfig([], {}))
    apply({ audioDefaults } as NodeConfig)
    const w = world(t, { ...quick, ...live, pollSeconds: quick.pollSeconds })
    w.runner.accept(w.link.add(job('a', { captureDevice, durationSeconds: 1 })))
    await w.runner.idle()
    assert.match(w.link.failed[0]?.[1] ?? '', reason)
    assert.equal(fs.existsSync(touched), false)
  }
})
