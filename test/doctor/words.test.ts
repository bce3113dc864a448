// The doctor's report for people, and the settings of a support file.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secretFiles, secretValues, settingsText } from '../../src/doctor/settings.rules.ts'
import { reportText } from '../../src/doctor/words.rules.ts'
import { advice, command, type DoctorReport } from '../../src/wire/doctor.ts'

const REPORT: DoctorReport = {
  checks: [
    { id: 'device.present', message: 'USB Desk (2 channels)', status: 'ok' },
    { fix: command('sudo apt-get install ffmpeg'), id: 'ffmpeg', message: 'ffmpeg is not installed', status: 'fail' },
    { fix: advice('never shown'), id: 'ssh.key', message: 'may not be seen', status: 'skipped' },
    { fix: advice('Turn it up. Which device:', 'arecord -l'), id: 'device.level', message: 'Silence', status: 'warn' },
  ],
  ok: false,
  role: 'agent',
}

test('one line for each check, in groups, the fix beneath what is not well', () => {
  assert.equal(
    reportText(REPORT, '1.2.3', false),
    `Recorder, roomtone 1.2.3

Sound
  ok      device.present         USB Desk (2 channels)
  WARN    device.level           Silence
          fix: Turn it up. Which device:
               arecord -l

This machine
  FAIL    ffmpeg                 ffmpeg is not installed
          fix: sudo apt-get install ffmpeg

Maintenance
  skipped ssh.key                may not be seen

1 of 4 checks fail, 1 warn, 1 skipped.
`,
  )
  const coloured = reportText(REPORT, '1.2.3', true)
  assert.ok(coloured.includes('\u001b[31;1mFAIL\u001b[0m'))
  const warned = { ...REPORT, checks: REPORT.checks.filter(({ status }) => status !== 'fail'), ok: true }
  assert.match(reportText(warned, '1', false), /Nothing fails; 1 of 3 checks warn, 1 skipped\.\n$/)
  const well = { ...REPORT, checks: REPORT.checks.slice(0, 1), ok: true }
  assert.match(reportText(well, '1', false), /All is well\.\n$/)
})

test('settings are shown, secrets are told by their length, what is none is hidden', () => {
  const env = {
    HOME: '/root',
    SVC_API_TLS_KEY_PATH: '/etc/key.pem',
    SVC_CONTROLLER_URL: 'https://c:8787',
    SVC_HEARTBEAT_URL: 'https://hc.example/uuid',
    SVC_METRICS_TOKEN: 'metrics-token',
    SVC_PASSWROD: 'hunter2',
    SVC_SECRET_KEY_FILE: '/run/secret',
    SVC_SITE: '',
  }
  const known = [
    'SVC_API_TLS_KEY_PATH',
    'SVC_CONTROLLER_URL',
    'SVC_HEARTBEAT_URL',
    'SVC_METRICS_TOKEN',
    'SVC_SECRET_KEY',
  ]
  assert.deepEqual(settingsText(env, known).trim().split('\n'), [
    'SVC_API_TLS_KEY_PATH=/etc/key.pem',
    'SVC_CONTROLLER_URL=https://c:8787',
    'SVC_HEARTBEAT_URL=[secret, 23 characters]',
    'SVC_METRICS_TOKEN=[secret, 13 characters]',
    'SVC_PASSWROD=[not a setting of this program]',
    'SVC_SECRET_KEY_FILE=/run/secret',
  ])
  assert.deepEqual(secretValues(env), ['https://hc.example/uuid', 'metrics-token'])
  assert.deepEqual(secretFiles(env), ['/run/secret'])
  assert.match(settingsText({}, known), /defaults/)
})
