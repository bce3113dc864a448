// The Debian package and its services on a booted machine: hardened as they are, they record, encode and deliver.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import * as net from 'node:net'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { PLACES, UNITS, USERS } from '../../src/system/host/places.ts'
import type { Recording } from '../../src/wire/recordings.ts'
import { executable } from '../kit/executable.ts'
import { ADMIN, Controller, House, until } from '../kit/whole.ts'
import { CARD_ENV, layCard, startCard, TONES } from './card.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'
import { packaged } from './visit.ts'

const ROOT = path.resolve(import.meta.dirname, '..', '..')
const LIMITS = [
  [UNITS.agent, 2],
  [UNITS.controller, 1.5],
  [UNITS.lifecycle, 1.5],
] as const

/** How strong a tone is in one channel of a file: 1 for a full-scale sine. */
function strength(file: string, channel: number, tone: number): number {
  const rate = 48_000
  const decode = ['-v', 'error', '-i', file, '-af', `pan=mono|c0=c${channel}`, '-ar', String(rate), '-f', 'f32le', '-']
  const bytes = execFileSync('ffmpeg', decode, { maxBuffer: 2 ** 28 })
  const count = Math.floor(bytes.length / 4)
  let [re, im] = [0, 0]
  for (let n = 0; n < count; n++) {
    const angle = (2 * Math.PI * tone * n) / rate
    re += bytes.readFloatLE(n * 4) * Math.cos(angle)
    im += bytes.readFloatLE(n * 4) * Math.sin(angle)
  }
  return (2 * Math.hypot(re, im)) / count
}

describe('the package on a booted machine', { skip: noMachine() }, () => {
  let box: Machine
  let house: House
  let controller: Controller
  let dir = ''
  let nodeId = ''
  let first = ''
  let second = ''

  const property = async (unit: string, name: string): Promise<string> =>
    (await box.must(`systemctl show -P ${name} ${unit}`)).trim()
  const install = (deb: string) => box.must(`dpkg -i ${deb}`, { timeoutMs: 120_000 })
  /** Back after a start: with a new session, for the sessions' database is the same but its address may be asked anew. */
  const backOnline = async () => {
    await until('the controller to answer', () => controller.login().catch(() => undefined))
    await controller.online(nodeId)
  }

  before(async () => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-package-'))
    const built = path.join(dir, 'roomtone')
    fs.copyFileSync(await executable(), built)
    const packages = await Promise.all(['1.0.0', '1.0.1'].map((version) => packaged(built, version, dir)))
    box = await bootMachine({ name: 'units' })
    house = await House.open(built)
    controller = new Controller(house).at(`http://${box.address}:8787`)
    ;[first, second] = packages.map((file) => `/root/${path.basename(file)}`) as [string, string]
    await Promise.all(packages.map((file) => box.bring(file, `/root/${path.basename(file)}`, '0644')))
  })
  after(async () => {
    await box?.stop()
    await house?.close()
    fs.rmSync(dir, { force: true, recursive: true })
  })

  test('installs; nothing runs, and nothing is enabled but the set-up', async () => {
    await install(first)
    assert.match(await box.must('roomtone version'), /^\d/)
    assert.equal((await box.must(`readlink ${PLACES.executable}`)).trim(), `${PLACES.versions}/1.0.0/roomtone`)
    for (const [unit] of LIMITS) {
      assert.equal(await property(unit, 'ActiveState'), 'inactive', unit)
      assert.equal(await property(unit, 'UnitFileState'), 'disabled', unit)
    }
    await box.must('visudo -c')
    assert.match(await box.must(`id -nG ${USERS.agent}`), /\baudio\b/)
  })

  test('its units are clean, and exposed no more than the limits', async () => {
    const { code, stderr, stdout } = await box.run('systemd-analyze verify /usr/lib/systemd/system/roomtone-*')
    assert.deepEqual([code, `${stdout}${stderr}`.trim()], [0, ''])
    for (const [unit, limit] of LIMITS) {
      const said = await box.must(`systemd-analyze security --offline=true --no-pager ${unit}`)
      const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(said)?.[1])
      assert.ok(exposure <= limit, `${unit}: ${exposure}`)
    }
  })

  test('the controller is ready when systemd says so, with its secrets as credentials', async () => {
    const settings = ['SVC_HOST=0.0.0.0\n', 'SVC_ALLOW_PLAIN_HTTP=1\n', `SVC_LOCAL_ADMIN_EMAIL=${ADMIN.email}\n`]
    await box.write('/etc/credstore/roomtone.local-admin-password', `${ADMIN.password}\n`, '0600')
    await box.write('/etc/credstore/roomtone.secret-key', 'field-secret-key-of-a-test\n', '0600')
    await box.write(PLACES.controllerSettings, settings.join(''), '0640')
    await box.must(`systemctl enable --now ${UNITS.controller}`)
    // At once: Type=notify means what it says.
    await controller.login()
    const pid = await property(UNITS.controller, 'MainPID')
    const environment = await box.must(`tr '\\0' '\\n' </proc/${pid}/environ; tr '\\0' ' ' </proc/${pid}/cmdline`)
    assert.doesNotMatch(environment, /field-secret-key|whole-house/)
    const key = await box.exists(`${PLACES.controllerHome}/secret.key`)
    assert.equal(key, false, 'no key of its own was made: the credential is the key')
  })

  /** What somebody reads who asks the journal only for what went wrong. */
  const warnings = () => box.must(`journalctl --no-pager -o cat -p warning -u ${UNITS.agent}`)

  test('an agent that is started before anybody set it up says what to do', async () => {
    await box.must(`systemctl start ${UNITS.agent}`)
    await until('its words', async () => /no controller token: .*roomtone setup agent/.test(await warnings()))
    await until('its status', async () => /^no controller token/.test(await property(UNITS.agent, 'StatusText')))
    await box.must(`systemctl stop ${UNITS.agent}`)
  })

  test('an agent with a spoiled setting says which and why, and is tried again with a pause', async () => {
    await box.write(PLACES.agentSettings, 'SVC_HEARTBEAT_SECONDS=often\n', '0640')
    assert.notEqual((await box.run(`systemctl start ${UNITS.agent}`)).code, 0)
    await until('another try', async () => Number(await property(UNITS.agent, 'NRestarts')) > 0)
    assert.match(await warnings(), /^roomtone agent: SVC_HEARTBEAT_SECONDS .*: expected a whole number\.$/m)
    assert.equal(await property(UNITS.agent, 'RestartUSec'), '2s')
    await box.must(`systemctl stop ${UNITS.agent}`)
  })

  test('the agent joins with a token that only a credential tells', async () => {
    const { id, token } = await controller.enroll('field')
    nodeId = id
    await layCard(box, USERS.agent)
    const env = {
      ...CARD_ENV,
      SVC_CONTROLLER_URL: 'http://127.0.0.1:8787',
      SVC_HEARTBEAT_SECONDS: '1',
      SVC_NODE_ID: id,
    }
    const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`)
    await box.write(PLACES.agentSettings, lines.join(''), '0640')
    await box.write('/etc/credstore/roomtone.controller-token', `${token}\n`, '0600')
    await box.must(`systemctl enable --now ${UNITS.agent}`)
    const device = await controller.online(id)
    assert.equal(device.systemName, 'Desk')
    assert.match(await property(UNITS.agent, 'StatusText'), /ready/)
  })

  test('it can gain nothing and does not see the keys that maintenance comes in by', async () => {
    const keys = path.dirname(PLACES.agentKeys)
    await box.must(`install -o ${USERS.agent} -g ${USERS.agent} -m 0600 /dev/null ${PLACES.agentKeys}`)
    const pid = await property(UNITS.agent, 'MainPID')
    const status = await box.read(`/proc/${pid}/status`)
    assert.match(status, /^NoNewPrivs:\s1$/m)
    assert.match(status, /^CapBnd:\s0+$/m)
    assert.match(status, /^Seccomp:\s2$/m)
    const seen = await box.must(`nsenter -t ${pid} -m sh -c 'ls -A ${keys}; ls -A ${PLACES.agentHome}; :'`)
    assert.doesNotMatch(seen, /authorized_keys/)
    assert.match(seen, /^data$/m)
  })

  /** Records 4 s of the card with this profile; the take once it is here whole. */
  const take = async (profileId: string): Promise<Recording> => {
    const { recording, job } = await controller.record(nodeId, profileId, 4)
    return await controller.delivered(recording.id, job.id)
  }
  /** Each channel of what a player gets has its own tone and not the other's. */
  const assertTones = async (route: string): Promise<void> => {
    const answer = await controller.raw('GET', route)
    assert.equal(answer.status, 200)
    const file = path.join(dir, 'take')
    fs.writeFileSync(file, Buffer.from(await answer.arrayBuffer()))
    for (const [channel, tone] of TONES.entries()) {
      const [own, other] = [strength(file, channel, tone), strength(file, channel, TONES[1 - channel] as number)]
      assert.ok(own > 0.1 && own > 20 * other, `channel ${channel}: ${own} of its own tone, ${other} of the other's`)
    }
  }

  test('the agent records a card through ALSA, as mp3', async () => {
    const { id } = await take(await controller.plainProfile('mp3'))
    await assertTones(`/recordings/${id}/file`)
  })

  for (const engine of ['deepfilternet3', 'rnnoise'] as const)
    test(`and beside it enhanced by ${engine}`, async () => {
      const profile = await controller.plainProfile('mp3')
      const { enhancement } = await controller.get(`/settings/recording-profiles/${profile}`)
      const changes = {
        channelMode: 'stereo',
        enhancement: { ...enhancement, denoise: { enabled: true, engine }, keepRaw: true },
      }
      await controller.get(`/settings/recording-profiles/${profile}`, 'PATCH', changes)
      const { id } = await take(profile)
      const { enhanced } = await until('both renditions', async () => {
        const { renditions = {} }: Recording = await controller.get(`/recordings/${id}`)
        return renditions.raw && renditions.enhanced ? renditions : undefined
      })
      assert.equal(enhanced?.denoiser?.engine, engine)
      await assertTones(`/recordings/${id}/file?rendition=raw`)
    })

  test('the runner is ready when systemd says so, with its token as a credential', async () => {
    await box.write('/etc/credstore/roomtone.ansible-runner-token', 'field-runner-token-of-a-test\n', '0600')
    await box.must(`systemctl start ${UNITS.lifecycle}`)
    assert.match(await box.must('curl -sS http://127.0.0.1:8790/healthz'), /"ok":true/)
    await box.must(`systemctl stop ${UNITS.lifecycle}`)
    assert.equal(await property(UNITS.lifecycle, 'Result'), 'success')
  })

  test('levels of the log are those of the journal', async () => {
    const said = (level: string) => box.must(`journalctl --no-pager -o cat -u ${UNITS.agent} ${level}`)
    const [all, info] = await Promise.all([said(''), said('-p 6..6')])
    assert.match(all, /"level":"info"/)
    assert.doesNotMatch(await said('-p warning'), /"level":"info"/)
    assert.match(info, /"message":"agent starting"/)
    assert.doesNotMatch(info, /"level":"(warn|error)"/)
  })

  /** A node whose managed key is known to the controller; nobody is there. */
  const keyOnly = async (): Promise<string> => {
    const [{ id }, file] = [await controller.enroll('mute'), path.join(dir, 'node_key')]
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
    const [privateKey, publicKey] = [file, `${file}.pub`].map((name) => fs.readFileSync(name, 'utf8').trim())
    const { token } = await controller.post(`/nodes/${id}/bootstrap-token`)
    const body = { hostKeys: [publicKey], interfaces: [], privateKey: `${privateKey}\n`, publicKey, username: 'nobody' }
    assert.equal((await controller.ask('POST', `/nodes/${id}/bootstrap`, body, token)).status, 201)
    return id
  }
  // Takes whoever comes, and says nothing.
  const mute = net.createServer((socket) => socket.unref()).unref()
  const keysOfActions = () =>
    box.must(
      "find / -xdev -path '*roomtone-lifecycle-*/key'; find /run /tmp /dev/shm -path '*roomtone-lifecycle-*/key'",
    )

  test('a key the controller acts on a node with lies in memory, where nobody else gets', async () => {
    mute.listen(0, box.hostAddress)
    await once(mute, 'listening')
    const { port } = mute.address() as net.AddressInfo
    const targets = { [await keyOnly()]: { host: box.hostAddress, port } }
    const settings = `SVC_LIFECYCLE_EMBEDDED=1\nSVC_ANSIBLE_TARGETS='${JSON.stringify(targets)}'\n`
    await box.write('/run/systemd/system/embedded.env', settings)
    const conf = '[Service]\nWatchdogSec=3\nEnvironmentFile=/run/systemd/system/embedded.env\n'
    await box.write(`/etc/systemd/system/${UNITS.controller}.d/quick.conf`, conf)
    await box.must(`systemctl daemon-reload && systemctl restart ${UNITS.controller}`)
    await until('the controller to answer', () => controller.login().catch(() => undefined))
    const [node] = Object.keys(targets)
    const cut = assert.rejects(controller.ask('POST', `/nodes/${node}/lifecycle/smoke_check`, {}))
    const key = await until('the key', async () => (await keysOfActions()).trim())
    assert.match(key, /^\/run\/roomtone-controller\/[^/\n]+\/key$/)
    assert.equal(
      await box.must(`stat -c '%U %a' ${key} /run/roomtone-controller; stat -f -c %T ${key}`),
      `${USERS.controller} 600\n${USERS.controller} 700\ntmpfs\n`,
    )
    await box.must(`systemctl kill -s KILL ${UNITS.controller}`)
    await cut
    await until('the controller to answer', () => controller.login().catch(() => undefined))
    assert.equal(await keysOfActions(), '')
  })

  test('a controller that stands still is started anew, and the node finds it again', async () => {
    const pid = await property(UNITS.controller, 'MainPID')
    await box.must(`kill -STOP ${pid}`)
    await until('another process', async () => {
      const now = await property(UNITS.controller, 'MainPID')
      return now !== '0' && now !== pid && (await property(UNITS.controller, 'ActiveState')) === 'active'
    })
    assert.match(await box.journal(UNITS.controller), /Watchdog timeout/)
    await box.must(`rm -r /etc/systemd/system/${UNITS.controller}.d && systemctl daemon-reload`)
    await backOnline()
  })

  test('after a reboot both are there again', async () => {
    await box.reboot()
    await startCard(box, USERS.agent)
    await backOnline()
  })

  test('an upgrade cuts no take: the agent goes on with the new version afterwards', async () => {
    const profile = await controller.plainProfile('wav')
    await box.write('/etc/systemd/system/roomtone-agent-refresh.service.d/quick.conf', '[Service]\nRestartSec=1\n')
    const { recording, job } = await controller.record(nodeId, profile, 15)
    await box.until('the take to run', `grep -rl '"capturing"' ${PLACES.agentHome}/data/agent/takes/*/state.json`)
    const before = await property(UNITS.agent, 'MainPID')
    await install(second)
    await until(
      'the upgrade to be refused once',
      async () => Number(await property('roomtone-agent-refresh.service', 'NRestarts')) > 0,
    )
    assert.equal(await property(UNITS.agent, 'MainPID'), before)
    const pid = await property(UNITS.controller, 'MainPID')
    assert.match(await box.must(`readlink /proc/${pid}/exe`), /1\.0\.1/)
    const arrived = await controller.delivered(recording.id, job.id, 90)
    assert.equal(arrived.durationSeconds, 15)
    const says = () => box.journal('roomtone-agent-refresh.service')
    await until('the agent to be started anew', async () => {
      const now = await property(UNITS.agent, 'MainPID')
      return now !== '0' && now !== before && (await box.must(`readlink /proc/${now}/exe`)).includes('1.0.1')
    }).catch(async (e: Error) => assert.fail(`${e.message}\n${await says()}`))
    await box.must('rm -r /etc/systemd/system/roomtone-agent-refresh.service.d')
    await backOnline()
  })

  test('removed and installed again: what was enabled runs again, and nothing else', async () => {
    await box.must('systemctl enable --now roomtone-tls-renew.timer')
    await box.must('dpkg -r roomtone', { timeoutMs: 120_000 })
    await install(second)
    await backOnline()
    for (const unit of [UNITS.agent, UNITS.controller, UNITS.tlsRenewTimer])
      assert.equal(await property(unit, 'ActiveState'), 'active', unit)
    assert.equal(await property(UNITS.lifecycle, 'ActiveState'), 'inactive')
    // An upgrade of what stands still on purpose starts nothing.
    await box.must(`systemctl stop ${UNITS.agent}`)
    await install(second)
    assert.equal(await property(UNITS.agent, 'ActiveState'), 'inactive')
    await box.must(`systemctl disable --now ${UNITS.tlsRenewTimer}`)
  })

  test('removed, no program is left; purged, only what would be missed', async () => {
    await box.must('dpkg -r roomtone', { timeoutMs: 120_000 })
    assert.equal(await box.exists(PLACES.executable), false)
    assert.equal(await box.exists(PLACES.controllerSettings), true)
    assert.equal((await box.run(`pgrep -u ${USERS.controller}`)).code, 1)
    // A sound card's server and a program that hears no SIGTERM still run as users that go.
    await box.must('systemctl is-active card-server')
    await box.must(
      `systemd-run --unit stray -p User=${USERS.lifecycle} sh -c 'trap "" TERM; while :; do sleep 1; done'`,
    )
    const { code, stderr } = await box.run('dpkg -P roomtone')
    assert.equal(code, 0, stderr)
    assert.equal(await box.must('ps -e -o user= | grep -c "^roomtone" || :'), '0\n')
    assert.match(stderr, /database and its recordings stay in \/var\/lib\/roomtone\/controller/)
    for (const gone of [PLACES.programs, PLACES.agentHome, PLACES.agentSettings, PLACES.sudoers, '/usr/bin/roomtone'])
      assert.equal(await box.exists(gone), false, gone)
    assert.equal(await box.exists(`${PLACES.controllerHome}/roomtone.db`), true)
    assert.equal(await box.exists(PLACES.controllerSettings), true)
    assert.equal(
      await box.must('find /etc/systemd /etc/credstore -name "*roomtone-agent*" -o -name "*controller-token"'),
      '',
    )
    const users = await box.must('getent passwd')
    assert.doesNotMatch(users, /^roomtone-(agent|lifecycle):/m)
    assert.match(users, /^roomtone:/m)
  })

  const leftovers = () =>
    box.must(
      `find /etc /opt /var/lib -name '*roomtone*' ! -path '*/dpkg/*' ! -name '*-' ; getent passwd | grep roomtone || :`,
    )

  test('a lifecycle action takes a packaged node off by the package manager', async () => {
    await box.must('rm -r /var/lib/roomtone /etc/roomtone /etc/credstore/roomtone.*; userdel roomtone')
    await install(first)
    const asked = `sudo -n ${PLACES.executable} maintain`
    const { code, stderr, stdout } = await box.run(asked, { input: '{"action":"uninstall"}\n', user: USERS.agent })
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /^Removed: .*the package roomtone/m)
    assert.equal(await leftovers(), '')
    assert.equal((await box.run('dpkg-query -W roomtone')).code, 1)
  })

  test('one role of a packaged box goes, the package stays for the others', async () => {
    await install(first)
    await box.must('systemctl enable --now roomtone-controller')
    await box.must('roomtone setup remove agent --purge')
    await box.must('systemctl is-active roomtone-controller && visudo -c')
    assert.equal(await property('roomtone-setup.service', 'UnitFileState'), 'disabled')
    await box.must('roomtone setup remove')
    assert.equal(await box.exists(PLACES.executable), false)
    assert.equal(await box.exists(`${PLACES.controllerHome}/roomtone.db`), true)
    const script = fs.readFileSync(path.join(ROOT, 'scripts', 'install-controller.sh'), 'utf8')
    await box.must('sh -s -- --uninstall --purge', { input: script })
    assert.equal(await leftovers(), '')
  })

  test('a package over what the installer had put there: a purge leaves nothing of either', async () => {
    await install(first)
    await box.must(`cp /usr/lib/systemd/system/roomtone-* /etc/systemd/system/ && systemctl daemon-reload`)
    await box.must('roomtone setup remove --purge')
    assert.equal(await leftovers(), '')
  })
})
