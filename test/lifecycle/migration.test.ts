// A node that was set up by hand comes under management.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { after, test } from 'node:test'
import { scratchDir } from '../kit/scratch.ts'
import { SshNode, USER, World } from './rig.ts'

const node = await SshNode.open()
const vault = scratchDir('roomtone-vault-')
const own = new Map<string, string>()
const world = await World.open(
  {
    RUNTIME_DIRECTORY: vault,
    SVC_ANSIBLE_TARGETS: (() => {
      const file = node.path('operator_key')
      own.set('file', file)
      fs.writeFileSync(file, '')
      return JSON.stringify({ node_2: { host: '127.0.0.1', port: node.port, sshKeyFile: file, sshUser: USER } })
    })(),
    SVC_LIFECYCLE_EMBEDDED: '1',
  },
  { node, vault },
)
const { k } = world
const admin = k.as('admin')
after(() => world.close())

test('rotate, then rotate_trust by the key of the operator, which is not offered any more once the new one is there', async () => {
  fs.rmSync(own.get('file') as string)
  const operator = world.operatorKey()
  assert.equal(operator.file, own.get('file'))
  assert.ok(k.logged.some((line) => line.includes(operator.file) && line.includes('SVC_ANSIBLE_TARGETS')))
  const { id } = await k.enroll('By hand')
  assert.equal(id, 'node_2')
  const act = async (action: string) =>
    (await admin.post(`/nodes/${id}/lifecycle/${action}`, { sshUser: USER })).json.data
  await admin.put(`/nodes/${id}/ssh-credential/host-keys`, { hostKeys: [node.hostKey] })
  const { publicKey } = (await admin.post(`/nodes/${id}/ssh-credential/rotate`, { username: USER })).json.data
  node.trusts([operator.publicKey])
  node.does('echo "trusted"')
  k.advance('1s')
  const moved = await act('rotate_trust')
  assert.deepEqual([moved.status, moved.stdout], ['succeeded', 'trusted\n'], moved.stderr)
  assert.equal(node.asked.at(-1).publicKey, publicKey)
  node.trusts([publicKey])
  assert.equal((await act('smoke_check')).status, 'succeeded')
  // Known to hold the managed key: nothing else is shown to whoever answers there.
  node.trusts([operator.publicKey])
  const shut = await act('smoke_check')
  assert.deepEqual([shut.status, shut.exitCode], ['failed', 255])
})
