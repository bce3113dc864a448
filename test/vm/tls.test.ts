// TLS on a controller's box as the README has it: install, make certificates, serve them, renew them by the timer's service.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { PLACES, UNITS, USERS } from '../../src/system/host/places.ts'
import { executable } from '../kit/executable.ts'
import { until } from '../kit/whole.ts'
import { get } from '../system/tls/world.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'

describe('the certificate of a site, on a booted box', { skip: noMachine() }, () => {
  let box: Machine
  let ca: string

  before(async () => {
    box = await bootMachine({ name: 'tls' })
    await box.bring(await executable(), '/root/roomtone')
  })
  after(async () => box?.stop())

  const healthz = (options = {}) => get(`https://${box.address}:8787/healthz`, { ca, ...options })
  const shown = async (): Promise<string> => (await healthz()).fingerprint
  const pid = () => box.must(`systemctl show -P MainPID ${UNITS.controller}`)

  test('an installed controller becomes reachable with the certificate it made', async () => {
    await box.must('/root/roomtone setup controller --no-packages')
    const open = await box.run('roomtone setup controller --no-packages --host 0.0.0.0')
    assert.notEqual(open.code, 0)
    assert.match(`${open.stdout}${open.stderr}`, /create a certificate with "roomtone tls init/)
    await box.must(`roomtone tls init --host ${box.address}`)
    const files = `${PLACES.tls}/ca.pem ${PLACES.tls}/ca.key ${PLACES.tls}/server.pem ${PLACES.tls}/server.key`
    assert.deepEqual((await box.must(`stat -c '%U:%G %a' ${files}`)).trim().split('\n'), [
      'root:root 644',
      'root:root 600',
      'root:root 644',
      `root:${USERS.controller} 640`,
    ])
    const pair = `--tls-cert ${PLACES.tls}/server.pem --tls-key ${PLACES.tls}/server.key`
    await box.must(`roomtone setup controller --no-packages --host 0.0.0.0 ${pair}`)
    ca = await box.read(`${PLACES.tls}/ca.pem`)
    assert.equal((await healthz()).status, 200)
  })

  test('the service of the timer renews it, and the controller takes it without a restart', async () => {
    assert.equal((await box.must(`systemctl is-active ${UNITS.tlsRenewTimer}`)).trim(), 'active')
    const [before, process] = [await shown(), await pid()]
    await box.must(`systemctl start ${UNITS.tlsRenew}`)
    assert.equal(await shown(), before, 'it is not due')
    // Due: as the last weeks of its life are.
    await box.must('roomtone tls renew --force --days 10')
    await box.must(`systemctl start ${UNITS.tlsRenew}`)
    assert.match(await box.journal(UNITS.tlsRenew), /Not due.*Renewed/s)
    assert.match(await box.must('roomtone tls show'), /\b39\d days/)
    const file = (await box.must(`openssl x509 -noout -fingerprint -sha256 -in ${PLACES.tls}/server.pem`)).trim()
    await until('the new certificate', async () => file.endsWith(await shown()) || undefined)
    assert.notEqual(await shown(), before)
    assert.equal(await pid(), process)
    assert.equal((await box.must(`stat -c '%U:%G %a' ${PLACES.tls}/server.key`)).trim(), `root:${USERS.controller} 640`)
  })

  test('its unit is clean, and can do little', async () => {
    const { code, stderr, stdout } = await box.run(`systemd-analyze verify ${UNITS.tlsRenew} ${UNITS.tlsRenewTimer}`)
    assert.deepEqual([code, `${stdout}${stderr}`.trim()], [0, ''])
    const said = await box.must(`systemd-analyze security --no-pager ${UNITS.tlsRenew}`)
    assert.ok(Number(/exposure level for \S+: ([\d.]+)/.exec(said)?.[1]) <= 2, said)
  })
})
