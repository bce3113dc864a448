import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kit } from '../../../kit/kit.ts'

const PLANS = '/settings/channel-map-assignment-plans'

test('a plan with a target that is refused is neither listed nor read', async () => {
  const k = kit()
  const { id, node } = await k.enroll()
  const { id: other } = await k.enroll('Other', { location: { site: 'South', room: 'Attic' } })
  const admin = k.as('admin')
  const made = await admin.post('/settings/channel-map-templates', {
    ...{ id: 'one', name: 'One' },
    entries: [{ included: true, label: 'Left', sourceChannelIndex: 1 }],
  })
  assert.equal(made.status, 201, made.text)
  const plan = async (...targets: [string, string][]): Promise<string> => {
    const body = { targets: targets.map(([targetType, targetId]) => ({ targetId, targetType })), templateId: 'one' }
    return (await admin.post(PLANS, body)).json.data.id
  }
  const far = await plan(['node', other])
  const near = [await plan(['node', other], ['node', id]), await plan(['interface', node.interfaces[0].id])]
  k.sql(`INSERT INTO access_policies VALUES ('p', 0, 'deny', 'user', 'root', 'site', ?, NULL)`, node.location.site)
  const root = k.person('root', ['admin'])
  const listed = (await root.get(PLANS)).json.data.map((row: { id: string }) => row.id)
  assert.deepEqual(listed, [far])
  assert.equal((await root.get(`${PLANS}/${far}`)).status, 200)
  for (const one of near)
    for (const path of [`${PLANS}/${one}`, `${PLANS}/${one}/actions`])
      assert.deepEqual([(await root.get(path)).status, (await admin.get(path)).status], [403, 200])
  assert.equal((await admin.get(PLANS)).json.data.length, 3)
  await k.close()
})
