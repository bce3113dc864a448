import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Kit, kit } from '../../../kit/kit.ts'

const TEMPLATES = '/settings/channel-map-templates'
const ASSIGNMENTS = '/settings/channel-map-assignments'
const PLANS = '/settings/channel-map-assignment-plans'

const entry = (source: number, more: object = {}) => ({
  included: true,
  label: `Source ${source}`,
  sourceChannelIndex: source,
  ...more,
})

async function template(k: Kit, id: string, sources = [1, 2], more: object = {}): Promise<string> {
  const answer = await k.as('admin').post(TEMPLATES, { id, name: id, entries: sources.map((s) => entry(s)), ...more })
  assert.equal(answer.status, 201, answer.text)
  return id
}

const to = (targetType: 'interface' | 'node', targetId: string, templateId?: string) => ({
  targetId,
  targetType,
  ...(templateId ? { templateId } : {}),
})

test('a template has its defaults, each edit is a revision that is kept, and the trail shows both sides', async () => {
  const k = kit()
  const admin = k.as('admin')
  const made = await admin.post(TEMPLATES, { name: ' Desk ', entries: [entry(1), entry(3, { included: false })] })
  assert.equal(made.status, 201)
  assert.deepEqual(made.json.data, {
    channelMode: 'mono_to_stereo_mix',
    entries: [entry(1), entry(3, { included: false })],
    id: 'channel_map_1',
    name: 'Desk',
    revision: 1,
    tags: [],
  })
  k.advance('1m')
  const one = `${TEMPLATES}/channel_map_1`
  const edited = await admin.patch(one, { channelMode: 'stereo', tags: ['hall'] })
  assert.deepEqual(edited.json.data, {
    ...made.json.data,
    channelMode: 'stereo',
    promotedAt: k.now(),
    promotedFromTemplateId: 'channel_map_1',
    revision: 2,
    tags: ['hall'],
  })
  assert.deepEqual((await admin.get(one)).json.data, edited.json.data)
  await template(k, 'later')
  assert.deepEqual(
    (await admin.get(TEMPLATES)).json.data.map((t: { id: string }) => t.id),
    ['later', 'channel_map_1'],
  )
  const [row] = k.rows<{ before: string; after: string }>(
    "SELECT before, after FROM audit_events WHERE action = 'settings.channel_map_templates.update.succeeded'",
  )
  assert.deepEqual([JSON.parse(row?.before ?? '').revision, JSON.parse(row?.after ?? '').revision], [1, 2])
  await k.close()
})

test('templates that make no sense, exist already or are unknown are refused', async () => {
  const k = kit()
  const admin = k.as('admin')
  await template(k, 'desk')
  const bad = [
    {},
    { name: 'x' },
    { name: 'x', entries: [] },
    { name: 'x', entries: [entry(1, { included: false })] },
    { name: 'x', entries: [entry(0)] },
    { name: 'x', entries: [entry(1, { outputChannelIndex: 1_000_000 })] },
    { name: 'x', entries: Array(129).fill(entry(1)) },
    { name: 'x', entries: [entry(1)], channelMode: 'surround' },
    { name: 'x', entries: [entry(1)], tags: Array(65).fill('t') },
  ]
  for (const body of bad) {
    const answer = await admin.post(TEMPLATES, body)
    assert.deepEqual([answer.status, answer.json.issues.length > 0], [400, true], JSON.stringify(body))
  }
  const twice = await admin.post(TEMPLATES, { id: 'desk', name: 'x', entries: [entry(1)] })
  assert.deepEqual([twice.status, twice.json.reason], [409, 'channel_map_template_exists'])
  assert.equal((await admin.patch(`${TEMPLATES}/desk`, {})).status, 400)
  assert.equal((await admin.get(`${TEMPLATES}/none`)).status, 404)
  assert.equal((await admin.patch(`${TEMPLATES}/none`, { name: 'x' })).status, 404)
  assert.equal((await k.as('viewer').post(TEMPLATES, { name: 'x', entries: [entry(1)] })).status, 403)
  await k.close()
})

test('assignment: none -> assigned -> another -> rolled back -> forward again; the same again changes nothing', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { node } = await k.enroll()
  const [one, two] = [await template(k, 'one'), await template(k, 'two')]
  const target = to('interface', node.interfaces[0].id)
  k.forget()
  const rollback = () => admin.post(`${ASSIGNMENTS}/rollback`, target)
  const put = (templateId: string) => admin.put(ASSIGNMENTS, { ...target, templateId })

  assert.deepEqual((await rollback()).json.reason, 'rollback_target_not_found')
  const first = (await put(one)).json.data
  assert.deepEqual(first, {
    ...target,
    assignedAt: k.now(),
    history: [
      { actorUserId: 'admin', changedAt: k.now(), id: 'assignment_event_1', nextTemplateId: one, reason: 'assigned' },
    ],
    id: 'assignment_1',
    templateId: one,
  })
  const noWay = await rollback()
  assert.deepEqual([noWay.status, noWay.json.reason], [409, 'rollback_target_not_found'])
  k.advance('1s')
  assert.deepEqual((await put(one)).json.data, first)
  const second = (await put(two)).json.data
  assert.deepEqual([second.id, second.templateId, second.assignedAt], ['assignment_1', two, k.now()])
  assert.equal((await rollback()).json.data.templateId, one)
  const last = (await rollback()).json.data
  assert.deepEqual(
    last.history.map((e: { reason: string; previousTemplateId?: string; nextTemplateId: string }) => [
      e.reason,
      e.previousTemplateId,
      e.nextTemplateId,
    ]),
    [
      ['assigned', undefined, one],
      ['assigned', one, two],
      ['rolled_back', two, one],
      ['rolled_back', one, two],
    ],
  )
  assert.deepEqual(
    k.trail().filter((row) => /succeeded|failed/.test(row)),
    [
      'settings.channel_map_assignments.rollback.failed failed rollback_target_not_found',
      'settings.channel_map_assignments.update.succeeded succeeded',
      'settings.channel_map_assignments.rollback.failed failed rollback_target_not_found',
      'settings.channel_map_assignments.update.succeeded succeeded',
      'settings.channel_map_assignments.update.succeeded succeeded',
      'settings.channel_map_assignments.rollback.succeeded succeeded',
      'settings.channel_map_assignments.rollback.succeeded succeeded',
    ],
  )
  const [{ id }] = k.rows<{ id: string }>(
    "SELECT DISTINCT target_id AS id FROM audit_events WHERE action LIKE '%assignments.update%'",
  ) as [{ id: string }]
  assert.equal(id, `interface:${target.targetId}`)
  await k.close()
})

test('what is unknown or beyond the device is refused, and a bulk change is all or nothing', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, node } = await k.enroll()
  const desk = node.interfaces[0].id
  await template(k, 'stereo')
  await template(k, 'wide', [1, 8])
  const refused = async (body: object, path = ASSIGNMENTS) => {
    const answer = await admin.put(path, body)
    return [answer.status, answer.json.reason ?? answer.json.error]
  }
  assert.deepEqual(await refused(to('interface', 'none', 'stereo')), [404, 'Interface not found'])
  assert.deepEqual(await refused(to('node', 'none', 'stereo')), [404, 'Node not found'])
  assert.deepEqual(await refused(to('node', id, 'none')), [404, 'Channel map template not found'])
  assert.deepEqual(await refused(to('interface', desk, 'wide')), [409, 'channel_map_beyond_device'])
  assert.deepEqual(await refused(to('node', id, 'wide')), [409, 'channel_map_beyond_device'])
  const bulk = { targets: [to('node', id), to('interface', 'none')], templateId: 'stereo' }
  assert.deepEqual(await refused(bulk, `${ASSIGNMENTS}/bulk`), [404, 'Interface not found'])
  assert.equal((await admin.put(`${ASSIGNMENTS}/bulk`, { targets: [], templateId: 'stereo' })).status, 400)
  assert.deepEqual(k.rows('SELECT * FROM channel_map_assignments'), [])
  const twice = [to('node', id), to('interface', desk), to('node', id)]
  const done = await admin.put(`${ASSIGNMENTS}/bulk`, { targets: twice, templateId: 'stereo' })
  assert.deepEqual(
    done.json.data.map((a: { targetId: string }) => a.targetId),
    [id, desk],
  )
  // An edit must not do what an assignment may not.
  const edit = await admin.patch(`${TEMPLATES}/stereo`, { entries: [entry(9)] })
  assert.deepEqual([edit.status, edit.json.reason, edit.json.targetId], [409, 'channel_map_beyond_device', desk])
  await k.close()
})

test('an assignment is read whole, in the list, in detail and with its actions', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, node } = await k.enroll()
  await template(k, 'one')
  await template(k, 'two')
  await admin.put(ASSIGNMENTS, to('node', id, 'one'))
  k.advance('1s')
  const own = (await admin.put(ASSIGNMENTS, to('interface', node.interfaces[0].id, 'one'))).json.data
  assert.deepEqual(
    (await admin.get(ASSIGNMENTS)).json.data.map((a: { id: string }) => a.id),
    ['assignment_2', 'assignment_1'],
  )
  assert.deepEqual((await admin.get(`${ASSIGNMENTS}/assignment_2`)).json.data, own)
  assert.equal((await admin.get(`${ASSIGNMENTS}/none`)).status, 404)
  const before = (await admin.get(`${ASSIGNMENTS}/assignment_2/actions`)).json.data
  assert.deepEqual(before.assignment, own)
  assert.deepEqual(before.actions.rollback, {
    enabled: false,
    method: 'POST',
    payload: { targetId: own.targetId, targetType: 'interface' },
    permission: 'settings:manage',
    reason: 'rollback_target_not_found',
  })
  await admin.put(ASSIGNMENTS, to('interface', own.targetId, 'two'))
  const { actions } = (await admin.get(`${ASSIGNMENTS}/assignment_2/actions`)).json.data
  assert.deepEqual([actions.rollback.enabled, actions.rollback.href], [true, `/api/v1${ASSIGNMENTS}/rollback`])
  const { actions: seen, links } = (await admin.get(`${TEMPLATES}/one/actions`)).json.data
  assert.deepEqual(Object.keys(seen), ['assign', 'bulkAssign', 'createRolloutPlan', 'detail', 'update'])
  assert.deepEqual([seen.assign.payload, links.update], [{ templateId: 'one' }, `/api/v1${TEMPLATES}/one`])
  await k.close()
})

test('a plan: pending -> applied, once; what is cancelled or applied is not pending; nothing is half applied', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, node } = await k.enroll()
  const desk = node.interfaces[0].id
  await template(k, 'one')
  const stage = (targets: object[], more: object = {}) => admin.post(PLANS, { targets, templateId: 'one', ...more })
  const staged = await stage([to('node', id), to('interface', desk), to('node', id)], { note: 'tonight' })
  assert.equal(staged.status, 201)
  assert.deepEqual(staged.json.data, {
    createdAt: k.now(),
    createdByUserId: 'admin',
    id: 'channel_map_plan_1',
    note: 'tonight',
    status: 'pending',
    targets: [to('node', id), to('interface', desk)],
    templateId: 'one',
  })
  const one = `${PLANS}/channel_map_plan_1`
  assert.deepEqual((await admin.get(one)).json.data, staged.json.data)
  assert.equal((await admin.get(`${one}/actions`)).json.data.actions.apply.enabled, true)
  assert.deepEqual((await admin.get(ASSIGNMENTS)).json.data, [])
  k.advance('1m')
  const applied = await admin.post(`${one}/apply`)
  assert.deepEqual([applied.status, applied.json.data.assignments.length], [200, 2])
  assert.deepEqual(applied.json.data.plan, {
    ...staged.json.data,
    appliedAt: k.now(),
    appliedByUserId: 'admin',
    status: 'applied',
  })
  const again = await admin.post(`${one}/apply`)
  assert.deepEqual([again.status, again.json.reason], [409, 'plan_not_pending'])
  assert.equal((await admin.get(`${one}/actions`)).json.data.actions.apply.reason, 'plan_not_pending')

  await stage([to('node', id)])
  k.sql("UPDATE channel_map_plans SET status = 'cancelled' WHERE id = 'channel_map_plan_2'")
  assert.equal((await admin.post(`${PLANS}/channel_map_plan_2/apply`)).json.reason, 'plan_not_pending')

  // The device has become smaller since: the plan stays pending and no target has changed.
  await template(k, 'two')
  const later = { targets: [to('node', id), to('interface', desk)], templateId: 'two' }
  assert.equal((await admin.post(PLANS, later)).status, 201)
  k.sql('UPDATE interfaces SET channel_count = 1 WHERE id = ?', desk)
  const beyond = await admin.post(`${PLANS}/channel_map_plan_3/apply`)
  assert.deepEqual([beyond.status, beyond.json.reason], [409, 'channel_map_beyond_device'])
  assert.equal((await admin.get(`${PLANS}/channel_map_plan_3`)).json.data.status, 'pending')
  assert.equal(k.rows("SELECT 1 FROM channel_map_assignments WHERE template_id = 'two'").length, 0)

  assert.deepEqual(
    (await admin.get(PLANS)).json.data.map((p: { id: string }) => p.id.at(-1)),
    ['3', '2', '1'],
  )
  for (const path of [`${PLANS}/none`, `${PLANS}/none/actions`]) assert.equal((await admin.get(path)).status, 404)
  assert.equal((await admin.post(`${PLANS}/none/apply`)).status, 404)
  assert.equal((await stage([to('node', 'none')])).status, 404)
  assert.equal((await stage([])).status, 400)
  await k.close()
})

test('a deny on a node keeps its maps from the hands of an admin; who holds the node sees them', async () => {
  const k = kit()
  const { id, node } = await k.enroll()
  const { id: other } = await k.enroll('Other', { location: { site: 'South', room: 'Attic' } })
  await template(k, 'one')
  const admin = k.as('admin')
  await admin.put(`${ASSIGNMENTS}/bulk`, {
    targets: [to('interface', node.interfaces[0].id), to('node', other)],
    templateId: 'one',
  })
  const seen = async (principal: typeof admin) =>
    (await principal.get(ASSIGNMENTS)).json.data.map((a: { targetId: string }) => a.targetId)
  assert.deepEqual(await seen(k.as('viewer')), [])
  assert.deepEqual(await seen(k.person('ann', ['viewer'], [['site', 'North']])), [node.interfaces[0].id])
  k.sql(`INSERT INTO access_policies VALUES ('p', 0, 'deny', 'user', 'root', 'node', ?, NULL)`, id)
  k.sql(`INSERT INTO access_policies VALUES ('q', 1, 'deny', 'user', 'root', 'channel_map_template', 'one', NULL)`)
  const root = k.person('root', ['admin'])
  assert.deepEqual(await seen(root), [other])
  k.forget()
  for (const [path, body] of [
    [ASSIGNMENTS, to('interface', node.interfaces[0].id, 'one')],
    [ASSIGNMENTS, to('node', other, 'one')],
    [`${ASSIGNMENTS}/bulk`, { targets: [to('node', id)], templateId: 'one' }],
  ] as const)
    assert.equal((await root.put(path, body)).status, 403)
  assert.equal((await root.post(PLANS, { targets: [to('node', id)], templateId: 'one' })).status, 403)
  assert.equal((await root.post(`${ASSIGNMENTS}/rollback`, to('node', id))).status, 403)
  assert.deepEqual(
    k.trail().filter((row) => row.endsWith('access_policy_denied')),
    [
      'settings.channel_map_assignments.update denied access_policy_denied',
      'settings.channel_map_assignments.update.failed denied access_policy_denied',
      'settings.channel_map_assignments.bulk_update.failed denied access_policy_denied',
      'settings.channel_map_assignment_plans.create.failed denied access_policy_denied',
      'settings.channel_map_assignments.rollback denied access_policy_denied',
    ],
  )
  await k.close()
})

test('an agent reads the maps of its node and interfaces, with their templates, and no others', async () => {
  const k = kit()
  const { id, agent, node } = await k.enroll()
  const { id: other } = await k.enroll('Other')
  await template(k, 'one')
  const targets = [to('node', id), to('interface', node.interfaces[0].id), to('node', other)]
  await k.as('admin').put(`${ASSIGNMENTS}/bulk`, { targets, templateId: 'one' })
  const { data } = (await agent.get(`/nodes/${id}/channel-map-assignments`)).json
  assert.deepEqual(
    data.map((bundle: { assignment: { targetId: string }; template: { id: string } }) => [
      bundle.assignment.targetId,
      bundle.template.id,
    ]),
    [
      [id, 'one'],
      [node.interfaces[0].id, 'one'],
    ],
  )
  assert.equal((await agent.get(`/nodes/${other}/channel-map-assignments`)).status, 403)
  await k.close()
})

test('a take gets the map of its interface, else of its node; an explicit selection wins, and an unfit map is passed over', async () => {
  const k = kit()
  const admin = k.as('admin')
  const { id, node } = await k.enroll('Desk', { recordingCapacity: { maxConcurrentRecordings: 8 } })
  const desk = node.interfaces[0].id
  await template(k, 'whole', [1, 2])
  await template(k, 'left', [1], { channelMode: 'mono' })
  const start = async (more: object = {}) => {
    const made = await admin.post('/recordings', { nodeId: id, durationSeconds: 5, ...more })
    assert.equal(made.status, 202, made.text)
    k.advance('1m')
    k.sql("UPDATE recording_jobs SET status = 'completed'")
    return made.json.job.command
  }
  assert.equal((await start()).channelMap, undefined)
  await admin.put(ASSIGNMENTS, to('node', id, 'whole'))
  const ofNode = await start()
  assert.deepEqual(
    [ofNode.channelMap.templateId, ofNode.channelMap.targetType, ofNode.captureChannels],
    ['whole', 'node', 2],
  )
  await admin.put(ASSIGNMENTS, to('interface', desk, 'left'))
  const own = await start()
  assert.deepEqual(own.channelMap, {
    assignmentId: 'assignment_2',
    channelMode: 'mono',
    entries: [entry(1)],
    sourceChannels: 1,
    targetId: desk,
    targetType: 'interface',
    templateId: 'left',
    templateName: 'left',
  })
  assert.equal(own.captureChannels, 1)
  const chosen = await start({ captureInterfaceId: desk, captureChannelSelection: [2] })
  assert.deepEqual(
    [chosen.channelMap.templateId, chosen.captureChannelSelection, chosen.captureChannels],
    ['inline-channel-selection', [2], 2],
  )
  // The device shrank below the node's map, and the interface has none of its own any more.
  k.sql("DELETE FROM channel_map_assignments WHERE target_type = 'interface'")
  k.sql('UPDATE interfaces SET channel_count = 1 WHERE id = ?', desk)
  assert.equal((await start()).channelMap, undefined)
  await k.close()
})

test('an inventory report keeps the map of a device that went away and came back', async () => {
  const k = kit()
  const { id, agent, node } = await k.enroll()
  await template(k, 'one')
  await k.as('admin').put(ASSIGNMENTS, to('interface', node.interfaces[0].id, 'one'))
  await agent.post(`/nodes/${id}/inventory`, { interfaces: [] })
  await agent.post(`/nodes/${id}/inventory`, {
    interfaces: [{ alias: 'x', systemName: 'USB Desk', systemRef: 'hw:CARD=Desk,DEV=0', channelCount: 2 }],
  })
  assert.equal((await agent.get(`/nodes/${id}/channel-map-assignments`)).json.data.length, 1)
  await k.close()
})
