// A stick in a prepared box: nobody types anything, and the room is online. The box reaches nothing but its controller.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, before, test } from 'node:test'
import * as tls from 'node:tls'
import { run } from '../../src/system/host/run.ts'
import { SetupFile } from '../../src/wire/provision.ts'
import { executable } from '../kit/executable.ts'
import { ADMIN, Controller, House, until } from '../kit/whole.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'

const skip = noMachine()
const UNITS = ['roomtone-setup.service', 'roomtone-setup-boot.service']
/** Where udev shows a stick by its label; there is no udev in this box, so that the test puts the image there itself. */
const IMAGE = '/var/tmp/stick.img'
const STICK = '/dev/disk/by-label/SVC-SETUP'

/** A digest of everything a setup touches, with modes and contents; the status file is what remains of a try. */
const LISTING = `(find /etc /opt -printf '%p %m %U %l\\n' -type f -exec sha256sum {} +
  ls -A /var/lib; getent passwd; systemctl list-unit-files) | grep -vx roomtone | sort | sha256sum`

let house: House
let controller: Controller
let box: Machine
let site: string

before(async () => {
  if (skip) return
  const roomtone = await executable()
  house = await House.open(roomtone)
  box = await bootMachine({ name: 'stick' })
  site = house.path('tls')
  assert.equal((await run(roomtone, ['tls', 'init', '--host', box.hostAddress, '--dir', site])).code, 0)
  const ca = fs.readFileSync(`${site}/ca.pem`, 'utf8')
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), ca])
  controller = await new Controller(house, {
    SVC_API_TLS_CERT_PATH: `${site}/server.pem`,
    SVC_API_TLS_KEY_PATH: `${site}/server.key`,
    SVC_HOST: box.hostAddress,
  }).start()
  await prepare(roomtone)
})
after(async () => {
  await box?.stop()
  await house?.close()
})

/** A box that waits for its stick, as a technician makes one from the executable. */
async function prepare(roomtone: string): Promise<void> {
  await box.bring(roomtone, '/root/roomtone')
  const ready = await box.must('/root/roomtone provision --prepare && rm /root/roomtone', { timeoutMs: 120_000 })
  assert.match(ready, /This box is ready for a setup stick\.\n$/)
  assert.equal(await box.must('roomtone provision --prepare'), 'This box was already prepared: nothing was changed.\n')
  // No card in this box: a tone stands in for it. The setup keeps what stands in the settings.
  await box.write('/etc/roomtone/recorder-agent.env', 'SVC_TEST_SOURCE=1\n', '0640')
  // This kernel mounts no FAT: sticks of the other kind have to be permitted.
  await box.write('/etc/roomtone/provision.env', 'SVC_PROVISION_FILE_SYSTEMS="vfat ext4"\n', '0644')
  for (const program of ['mcopy', 'mtype']) await box.bring('/usr/bin/mtools', `/usr/local/bin/${program}`)
}

/** roomtone usb-config as an operator runs it, into a directory of its own; gives that directory. */
async function written(name: string, ...more: string[]): Promise<string> {
  const out = house.path(name)
  const password = house.path('password')
  fs.writeFileSync(password, `${ADMIN.password}\n`, { mode: 0o600 })
  const who = ['--email', ADMIN.email, '--password-file', password]
  const where = [
    '--controller-url',
    controller.url,
    '--controller-ca',
    `${site}/ca.pem`,
    '--out',
    out,
    '--allow-local',
    '--again',
  ]
  const program = house.start(['usb-config', ...who, ...where, ...more], { cwd: house.dir })
  const [code] = await program.exited
  assert.equal(code, 0, program.said())
  assert.ok(!program.said().includes('svc_bs_'))
  return out
}

const fileIn = (dir: string): SetupFile => SetupFile.parse(JSON.parse(fs.readFileSync(`${dir}/roomtone.json`, 'utf8')))

/** A stick with this file, plugged in. ext4: mounted by this kernel. FAT: where it cannot (as here), through mtools. */
async function plug(dir: string, kind: 'ext4' | 'vfat' = 'ext4'): Promise<void> {
  const image = house.path('stick.img')
  const [first, last]: [string, ...string[]][] =
    kind === 'ext4'
      ? [['mkfs.ext4', '-q', '-L', 'SVC-SETUP', '-d', dir, image]]
      : [
          ['mkfs.vfat', '-n', 'SVC-SETUP', image],
          ['mcopy', '-i', image, `${dir}/roomtone.json`, '::/'],
        ]
  fs.rmSync(image, { force: true })
  for (const [command, ...args] of [['truncate', '-s', '4M', image], first, last].filter((c) => c !== undefined))
    assert.equal((await run(command as string, args)).code, 0, command)
  await box.bring(image, IMAGE, '0600')
  await box.must(`mkdir -p /dev/disk/by-label && ln -sfn ${IMAGE} ${STICK}`)
  // Loop devices are this host's; a machine has no nodes for them.
  await box.must(
    '[ -e /dev/loop0 ] || { mknod /dev/loop-control c 10 237; for i in $(seq 0 15); do mknod /dev/loop$i b 7 $i; done; }',
  )
}

/** A text file of the stick, as it is now. */
const onStick = (name: string) => box.must(`debugfs -R 'cat /${name}' ${IMAGE} 2>/dev/null`)

const status = async () => JSON.parse(await box.read('/var/lib/roomtone/setup-status.json'))
const start = () => box.run('systemctl start roomtone-setup.service', { timeoutMs: 180_000 })
const nodeOf = async (id: string) => (await controller.login()).get(`/nodes/${id}`)

test('the units are clean, and wanted by the label of the stick', { skip }, async () => {
  const said = await box.run(`systemd-analyze verify ${UNITS.map((unit) => `/etc/systemd/system/${unit}`).join(' ')}`)
  assert.deepEqual([said.code, said.stderr], [0, ''])
  const wants = await box.must(
    'systemctl show -p Wants "$(systemd-escape -p --suffix=device /dev/disk/by-label/SVC-SETUP)"',
  )
  assert.match(wants, /roomtone-setup\.service/)
})

test('a stick that is expired, for another node, damaged or too large says so and touches nothing', {
  skip,
}, async () => {
  const before = await box.must(LISTING)
  const told = async (why: RegExp): Promise<void> => {
    assert.notEqual((await start()).code, 0)
    const { result, words } = await status()
    assert.equal(result, 'refused')
    assert.match(words, why)
    assert.ok((await box.journal('roomtone-setup.service')).includes(words))
  }
  const dir = await written('short', '--room', 'Late;North;Hall', '--ttl', '1s')
  const [late] = fileIn(dir).nodes
  const look = () => controller.raw('GET', `/nodes/${late?.nodeId}/bootstrap`, { token: late?.bootstrapToken ?? '' })
  await until('the token to expire', async () => (await look()).status === 401)
  await plug(dir)
  await told(/"Late" .* expired at 20..-.*write a new stick/)

  const wrong = await written('wrong', '--room', 'A;North;A', '--room', 'B;North;B')
  const file = fileIn(wrong)
  const [a, b] = file.nodes
  assert.ok(a && b)
  const put = (content: string) => fs.writeFileSync(`${wrong}/roomtone.json`, content)
  put(JSON.stringify({ ...file, nodes: [{ ...a, bootstrapToken: b.bootstrapToken }] }))
  await plug(wrong)
  await told(/used already, or was revoked/)
  put(JSON.stringify(file).slice(0, -9))
  await plug(wrong)
  await told(/is damaged/)
  put(JSON.stringify({ ...file, filler: 'x'.repeat(70_000) }))
  await plug(wrong)
  await told(/larger than 64 KiB/)
  assert.equal(await box.must(LISTING), before)
})

test('a stick for two rooms: the box takes the one that is its own, and is online', { skip }, async () => {
  const dir = await written(
    'two',
    '--write-back',
    '--room',
    'Elsewhere;North;Attic;hostname=attic',
    '--room',
    'Hall;North;Hall',
  )
  const [attic, hall] = fileIn(dir).nodes
  assert.ok(attic && hall)
  await plug(dir)
  const { code } = await start()
  const journal = await box.journal('roomtone-setup.service')
  assert.equal(code, 0, journal)
  const { at, ...rest } = await status()
  assert.deepEqual(rest, {
    nodeId: hall.nodeId,
    result: 'done',
    words: `This box has joined as "Hall" (${hall.nodeId}) and is online.`,
  })
  assert.match(await box.must('stat -c %a /var/lib/roomtone/setup-status.json'), /^644/)
  await until('the node to be online', async () => (await nodeOf(hall.nodeId)).status === 'online')
  assert.equal((await nodeOf(attic.nodeId)).status, 'provisioning')
  // What was taken is struck out, the other room's entry stays, and no token stands anywhere else.
  const left = SetupFile.parse(JSON.parse(await onStick('roomtone.json')))
  assert.deepEqual(left.nodes, [attic])
  assert.match(await onStick('roomtone-result.txt'), /has joined as "Hall"/)
  assert.ok(!journal.includes('svc_bs_') && !journal.includes('svc_node_'), journal)
  assert.equal((await box.run(`grep -rlE 'svc_bs_' /etc /var/lib /opt/roomtone/bin /run --include='*' -s`)).stdout, '')
  assert.match(journal, /This box has joined as "Hall"/)
})

test('the same stick once more changes nothing; one for another room is refused until it says replace', {
  skip,
}, async () => {
  const before = await box.read('/etc/roomtone/recorder-agent.env')
  const again = await written('again', '--node', (await status()).nodeId)
  await plug(again, 'vfat')
  assert.equal((await start()).code, 0)
  assert.equal((await status()).result, 'unchanged')

  const other = await written('other', '--room', 'Studio;North;Studio')
  await plug(other)
  assert.notEqual((await start()).code, 0)
  assert.match((await status()).words, /belongs to the node .* already.*--replace/)
  assert.equal(await box.read('/etc/roomtone/recorder-agent.env'), before)

  const replacing = await written('replacing', '--room', 'Studio 2;North;Studio', '--replace')
  await plug(replacing)
  assert.equal((await start()).code, 0, await box.journal('roomtone-setup.service'))
  const [studio] = fileIn(replacing).nodes
  assert.equal((await status()).nodeId, studio?.nodeId)
  assert.match(await box.read('/etc/roomtone/recorder-agent.env'), new RegExp(`SVC_NODE_ID=${studio?.nodeId}`))
  await until('the new node to be online', async () => (await nodeOf(studio?.nodeId ?? '')).status === 'online')
})

test('a stick of a stranger takes no joined box over, and none of another kind is mounted', { skip }, async () => {
  const dir = await written('strange', '--room', 'Strange;North;Strange', '--replace')
  const file = fileIn(dir)
  const nodes = file.nodes.map((entry) => ({ ...entry, bootstrapToken: `svc_bs_${'x'.repeat(43)}` }))
  const strange = { ...file, allowInsecure: true, controllerUrl: `http://${box.hostAddress}:1`, nodes }
  fs.writeFileSync(`${dir}/roomtone.json`, JSON.stringify(strange))
  const before = await box.must(LISTING)
  await plug(dir)
  assert.notEqual((await start()).code, 0)
  const { result, words } = await status()
  assert.equal(result, 'refused')
  assert.match(words, /present controller \(https:.*was asked.*SVC_PROVISION_REPLACE=true/)
  await box.must('mv /etc/roomtone/provision.env /root/')
  assert.notEqual((await start()).code, 0)
  assert.match((await status()).words, /formatted as ext4.*format the stick as FAT32/)
  await box.must('mv /root/provision.env /etc/roomtone/')
  assert.equal(await box.must(LISTING), before)
})

test('the file of the boot partition is taken at power-on, and is gone afterwards', { skip }, async () => {
  const dir = await written('boot', '--room', 'Boot;North;Booth', '--replace')
  const [booth] = fileIn(dir).nodes
  await box.write('/boot/firmware/roomtone.json', fs.readFileSync(`${dir}/roomtone.json`), '0600')
  await box.reboot()
  await box.until('the boot partition to be read', '[ ! -e /boot/firmware/roomtone.json ]')
  assert.deepEqual([(await status()).result, (await status()).nodeId], ['done', booth?.nodeId])
  await until('the node to be online', async () => (await nodeOf(booth?.nodeId ?? '')).status === 'online')
  // The next power-on has nothing to do.
  await box.must('systemctl start roomtone-setup-boot.service')
  assert.match(await box.must('systemctl show -p ConditionResult roomtone-setup-boot.service'), /=no/)
})

test('the same node anew: what fails after the controller has accepted leaves it its new credentials', {
  skip,
}, async () => {
  const { nodeId } = await status()
  await plug(await written('anew', '--node', nodeId, '--replace'))
  const dropIn = '/run/systemd/system/roomtone-agent.service.d/fail.conf'
  await box.write(dropIn, '[Service]\nExecStartPre=/bin/false\n')
  await box.must('systemctl daemon-reload')
  assert.notEqual((await start()).code, 0)
  const { result, words } = await status()
  assert.deepEqual([result, /does not start[\s\S]*token has been used/.test(words)], ['failed', true], words)
  await box.must(`rm ${dropIn} && systemctl daemon-reload && systemctl reset-failed roomtone-agent.service; \
    systemctl restart roomtone-agent.service`)
  const said = String.raw`sed -n 's/.*"online":true,"pid":\([0-9]*\).*/\1/p' /var/lib/roomtone/agent/data/agent/online.json`
  const started = 'systemctl show --value -p MainPID roomtone-agent.service'
  await box.until('the controller to hear the agent that was started now', `[ "$(${said})" = "$(${started})" ]`)
  const keys = await box.must('grep -c svc-node_ /var/lib/roomtone/agent-login/.ssh/authorized_keys')
  assert.equal(keys.trim(), '1')
})

test('by hand, from a directory', { skip }, async () => {
  const dir = await written('hand', '--room', 'Hand;North;Hand', '--replace')
  await box.write('/var/tmp/hand/roomtone.json', fs.readFileSync(`${dir}/roomtone.json`), '0600')
  const said = await box.run('roomtone provision --from /var/tmp/hand', { timeoutMs: 120_000 })
  assert.equal(said.code, 0, said.stdout + said.stderr)
  assert.match(said.stdout, /This box has joined as "Hand"/)
  const second = await box.run('roomtone provision --from /var/tmp/hand', { timeoutMs: 120_000 })
  assert.deepEqual([second.code, (await status()).result], [0, 'unchanged'])
  const nobody = await box.run('roomtone provision --from /var/tmp/hand', { user: 'nobody' })
  assert.deepEqual(
    [nobody.code, nobody.stderr.trim()],
    [2, 'roomtone provision: only root can set up this box: run it with sudo.'],
  )
})

test('a power cut after the token was spent: the next power-on ends the setup', { skip }, async () => {
  const dir = await written('cut', '--room', 'Cut;North;Cut', '--replace')
  const [cut] = fileIn(dir).nodes
  await plug(dir)
  // In memory: the power cut takes it too.
  const wait = '/run/systemd/system/roomtone-agent.service.d/wait.conf'
  await box.write(wait, '[Service]\nTimeoutStartSec=infinity\nExecStartPre=/bin/sleep infinity\n')
  await box.must('systemctl daemon-reload && systemctl start --no-block roomtone-setup.service')
  await box.until(
    'the node to have joined',
    `grep -q SVC_NODE_ID=${cut?.nodeId} /etc/roomtone/recorder-agent.env && systemctl is-active roomtone-agent.service | grep -qx activating`,
  )
  // At once, so that it cannot see its own children die.
  await box.must('kill -KILL "$(systemctl show --value -p MainPID roomtone-setup.service)" && sync')
  await box.powerCut()
  await plug(dir)
  assert.equal((await start()).code, 0, await box.journal('roomtone-setup.service'))
  assert.deepEqual([(await status()).result, (await status()).nodeId], ['done', cut?.nodeId])
  await until('the node to be online', async () => (await nodeOf(cut?.nodeId ?? '')).status === 'online')
})
