// Two sites, four rooms and three nodes, made through the API as people and agents would; one node serves two rooms
// and none at all with its second device, one has no room. What each thing expands to is written here from what was
// asked for, by the rules of docs/contract/access.md: Expansion, never from src.
import assert from 'node:assert/strict'
import { type Answer, type Kit, kit } from '../kit/kit.ts'

/** `type id`, as grants and policies name things. */
export type Name = string

/** A thing, what reaches it, and the words by which it would be known to who must not see it. */
export interface Thing {
  id: string
  reachedBy: Name[]
  secrets: string[]
  type: string
}

type Client = ReturnType<Kit['bearer']>

/** A whole, real WAV. */
export function wav(value = 1000, ms = 100, rate = 8000): Uint8Array {
  const samples = new Int16Array((rate * ms) / 1000).fill(value)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.byteLength, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * 2, 28)
  head.writeUInt16LE(2, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.byteLength, 40)
  return new Uint8Array(Buffer.concat([head, Buffer.from(samples.buffer)]))
}

const device = (alias: string, channelCount: number) => ({
  ...{ alias, systemName: alias, systemRef: `hw:${alias}`, backend: 'alsa', channelCount, sampleRates: [48_000] },
  channels: Array.from({ length: channelCount }, (_, i) => ({ index: i + 1, alias: `${alias} ${i + 1}` })),
})

export const ok = (answer: Answer, status: number): Answer => {
  assert.equal(answer.status, status, answer.text.slice(0, 400))
  return answer
}

const ROOMS = { hall: 'North', booth: 'North', cellar: 'South', attic: 'South' } as const
type Room = keyof typeof ROOMS

export interface RecordingFacts {
  id: string
  jobId: string
  node: string
  room: Room | undefined
  schedule: string | undefined
  /** What every text of it begins with; no part of another's. */
  word: string
}

export async function world() {
  const k = kit()
  const owner = k.as('owner')
  const things: Thing[] = []
  const add = (type: string, id: string, reachedBy: Name[], ...secrets: string[]): string => {
    things.push({ id, reachedBy: [`${type} ${id}`, ...reachedBy], secrets, type })
    return id
  }
  const get = (type: string, id: string): Thing | undefined => things.find((t) => t.type === type && t.id === id)
  for (const [id, site] of Object.entries(ROOMS)) {
    ok(await owner.post('/rooms', { id, name: `${id}-quarter`, site }), 201)
    // A room is part of its site.
    add('room', id, [`site ${site}`], `${id}-quarter`)
  }
  const nodes = await made(k, owner, add)
  const schedules = await booked(owner, nodes, add)
  const library = await recorded(owner, nodes, schedules, add)
  const uploads = await uploading(owner, library)
  const health = await alarmed(owner, nodes, library, schedules, add)
  // What the controller raised by itself speaks of a take.
  for (const { id, recordingId } of ok(await owner.get('/health-events?limit=200'), 200).json.data)
    if (!get('health_event', id)) add('health_event', id, get('recording', recordingId)?.reachedBy ?? [])
  const maps = await mapped(owner, nodes, add)
  const switchers = await wired(owner, add)
  // An item is its recording's (docs/contract/access.md: Visible sets).
  for (const [key, id] of Object.entries(uploads.items))
    add('upload_queue', id, (get('recording', library[key]?.id ?? '') as Thing).reachedBy)
  return { k, owner, get, health, library, maps, nodes, schedules, switchers, things, uploads }
}
export type World = Awaited<ReturnType<typeof world>>
type Add = (type: string, id: string, reachedBy: Name[], ...secrets: string[]) => string
type Nodes = Awaited<ReturnType<typeof made>>
type Library = Record<string, RecordingFacts>

async function made(k: Kit, owner: Client, add: Add) {
  const enroll = async (alias: string, site: string, interfaces: object[]) => {
    const { id, agent, node } = await k.enroll(alias, {
      interfaces,
      location: { room: `${alias} closet`, site },
      notes: `${alias}-notes`,
      recordingCapacity: { maxConcurrentRecordings: 4 },
    })
    return { agent, id, devices: node.interfaces.map((i: { id: string }) => i.id) as string[] }
  }
  // Two rooms on one device, and a second device in no room.
  const desk = await enroll('Deskbox', 'North', [device('Desk', 4), device('Spare', 2)])
  const rooms = (interfaceId: string, roomId: Room, ...channelIndexes: number[]) => ({
    channelIndexes,
    interfaceId,
    roomId,
  })
  const [main = '', spare = ''] = desk.devices
  const assignments = [rooms(main, 'hall', 1, 2), rooms(main, 'booth', 3, 4)]
  ok(await owner.put(`/nodes/${desk.id}/channel-rooms`, { assignments }), 200)
  // A default room that one channel has left.
  const vault = await enroll('Vaultbox', 'South', [device('Vault', 2)])
  ok(await owner.patch(`/nodes/${vault.id}`, { roomId: 'cellar' }), 200)
  const [cellar = ''] = vault.devices
  ok(await owner.put(`/nodes/${vault.id}/channel-rooms`, { assignments: [rooms(cellar, 'attic', 2)] }), 200)
  const loose = await enroll('Loosebox', 'South', [device('Loose', 2)])
  const [free = ''] = loose.devices
  add('node', desk.id, ['site North', 'room hall', 'room booth'], 'Deskbox')
  add('node', vault.id, ['site South', 'room cellar', 'room attic'], 'Vaultbox')
  add('node', loose.id, ['site South'], 'Loosebox')
  return { desk, loose, vault, devices: { cellar, free, main, spare } }
}

async function booked(owner: Client, { desk, devices, loose, vault }: Nodes, add: Add) {
  const book = async (key: string, nodeId: string, captureInterfaceId: string, channel: number): Promise<string> => {
    const body = {
      ...{
        captureChannelSelection: [channel],
        captureInterfaceId,
        folderTemplate: `${key}-folder`,
        name: `${key}-plan`,
      },
      ...{ nodeId, recordingProfileId: 'voice-mp3-vbr', room: key, timezone: 'UTC', titleTemplate: `${key}-title` },
      recurrence: { mode: 'daily', interval: 1, startTime: '10:00', endTime: '11:00' },
      watchdogPolicyId: 'scheduled-voice-watchdog',
    }
    return ok(await owner.post('/schedules', body), 201).json.data.id
  }
  const ids = {
    booth: await book('sbooth', desk.id, devices.main, 3),
    cellar: await book('scellar', vault.id, devices.cellar, 1),
    hall: await book('shall', desk.id, devices.main, 1),
    loose: await book('sloose', loose.id, devices.free, 1),
    // Records in the booth before it moves to the attic.
    moved: await book('smoved', desk.id, devices.main, 4),
  }
  add('schedule', ids.hall, ['room hall', `node ${desk.id}`, 'site North'], 'shall-plan')
  add('schedule', ids.booth, ['room booth', `node ${desk.id}`, 'site North'], 'sbooth-plan')
  add('schedule', ids.cellar, ['room cellar', `node ${vault.id}`, 'site South'], 'scellar-plan')
  add('schedule', ids.loose, [`node ${loose.id}`, 'site South'], 'sloose-plan')
  add('schedule', ids.moved, ['room attic', `node ${vault.id}`, 'site South'], 'smoved-plan')
  return ids
}
type Schedules = Awaited<ReturnType<typeof booked>>

const HEADERS = { 'content-type': 'audio/wav', 'x-svc-duration-seconds': '1', 'x-svc-file-name': 'take.wav' }

async function recorded(owner: Client, nodes: Nodes, schedules: Schedules, add: Add): Promise<Library> {
  const { desk, devices, loose, vault } = nodes
  const library: Library = {}
  const sites = new Map([
    [desk.id, 'North'],
    [vault.id, 'South'],
    [loose.id, 'South'],
  ])
  const keep = (key: string, { data, job }: Answer['json'], node: string, room?: Room, schedule?: string): void => {
    library[key] = { id: data.id, jobId: job.id, node, room, schedule, word: `zz${key}` }
  }
  const start = async (key: string, nodeId: string, interfaceId: string, channel: number, room?: Room) => {
    const body = { captureChannelSelection: [channel], captureInterfaceId: interfaceId, durationSeconds: 60, nodeId }
    keep(key, ok(await owner.post('/recordings', body), 202).json, nodeId, room)
  }
  const finish = async (key: string, agent: Client) => {
    const { id, jobId, node } = library[key] as RecordingFacts
    ok(await agent.post(`/nodes/${node}/recording-jobs/claim-next`), 200)
    ok(await agent.put(`/recordings/${id}/cache-file`, wav(), { ...HEADERS, 'x-svc-recording-job-id': jobId }), 201)
  }
  for (const [key, channel, room] of [
    ['hall1', 1, 'hall'],
    ['hall2', 2, 'hall'],
    ['booth1', 3, 'booth'],
    ['booth2', 4, 'booth'],
  ] as const) {
    await start(key, desk.id, devices.main, channel, room)
    await finish(key, desk.agent)
  }
  await start('spare', desk.id, devices.spare, 1)
  await finish('spare', desk.agent)
  await start('cellar', vault.id, devices.cellar, 1, 'cellar')
  await finish('cellar', vault.agent)
  await start('attic', vault.id, devices.cellar, 2, 'attic')
  await finish('attic', vault.agent)
  await start('loose', loose.id, devices.free, 1)
  await finish('loose', loose.agent)
  for (const [key, room] of [
    ['hall', 'hall'],
    ['booth', 'booth'],
    ['moved', 'booth'],
  ] as const) {
    const run = ok(await owner.post(`/schedules/${schedules[key]}/run-now`), 202)
    keep(`run-${key}`, run.json, desk.id, room, schedules[key])
    await finish(`run-${key}`, desk.agent)
  }
  const attic = { captureChannelSelection: [2], captureInterfaceId: devices.cellar, nodeId: vault.id }
  ok(await owner.patch(`/schedules/${schedules.moved}`, attic), 200)
  // Some fail, some are under way.
  await start('failed-hall', desk.id, devices.main, 1, 'hall')
  await start('failed-booth', desk.id, devices.main, 3, 'booth')
  ok(await desk.agent.post(`/nodes/${desk.id}/recording-jobs/claim-next-group`), 200)
  for (const key of ['failed-hall', 'failed-booth'])
    ok(await desk.agent.post(`/recording-jobs/${library[key]?.jobId}/failed`, { reason: 'device_lost' }), 200)
  await start('live-hall', desk.id, devices.main, 1, 'hall')
  await start('live-booth', desk.id, devices.main, 3, 'booth')
  await start('live-cellar', vault.id, devices.cellar, 1, 'cellar')
  ok(await desk.agent.post(`/nodes/${desk.id}/recording-jobs/claim-next-group`), 200)
  for (const facts of Object.values(library)) {
    const { id, word } = facts
    const told = { folder: `${word}-shelf`, name: `${word}-name`, notes: `common words ${word}-note` }
    const said = { tags: [`${word}-tag`, 'common'], transcriptSnippets: [`${word}-said`] }
    ok(await owner.patch(`/recordings/${id}/metadata`, { ...told, ...said }), 200)
  }
  const plans: Record<string, Name[]> = {
    [schedules.hall]: ['room hall', `node ${desk.id}`, 'site North'],
    [schedules.booth]: ['room booth', `node ${desk.id}`, 'site North'],
    [schedules.moved]: ['room attic', `node ${vault.id}`, 'site South'],
  }
  for (const { id, jobId, node, room, schedule, word } of Object.values(library)) {
    const reached = [...(room ? [`room ${room}`] : []), `node ${node}`, `site ${sites.get(node)}`]
    const planned = schedule ? [`schedule ${schedule}`, ...(plans[schedule] ?? [])] : []
    add('recording', id, [...reached, ...planned], `${word}-`)
    add('recording_job', jobId, [`recording ${id}`, ...reached, ...planned])
  }
  return library
}

async function uploading(owner: Client, library: Library) {
  const s3 = { accessKeyId: 'key', bucket: 'takes', endpoint: 'http://127.0.0.1:9', forcePathStyle: true }
  const destination = { displayName: 'Archive', enabled: true, kind: 's3', s3, s3SecretAccessKey: 'secret-secret' }
  const destinationId = ok(await owner.post('/settings/upload-destinations', destination), 201).json.data.id
  const policy = { destinationId, name: 'Archive all' }
  const policyId = ok(await owner.post('/settings/upload-policies', policy), 201).json.data.id as string
  const items: Record<string, string> = {}
  for (const key of ['hall1', 'booth1', 'spare', 'cellar', 'attic', 'loose', 'run-moved']) {
    const { id } = library[key] as RecordingFacts
    const body = { uploadPolicyId: policyId }
    items[key] = ok(await owner.post(`/recordings/${id}/upload-queue`, body), 201).json.data.id
  }
  const hook = { kind: 'ntfy', name: 'Phones', ntfy: { topic: 'rooms', url: 'http://127.0.0.1:9' } }
  const { id: channelId } = ok(await owner.post('/settings/notification-channels', hook), 201).json.data
  ok(await owner.post('/settings/notification-rules', { channelId, minSeverity: 'critical', name: 'Worst' }), 201)
  return { destinationId: destinationId as string, items, policyId }
}

async function alarmed(owner: Client, { desk, loose, vault }: Nodes, library: Library, schedules: Schedules, add: Add) {
  const report = async (word: string, body: object, reachedBy: Name[]): Promise<string> => {
    const event = { details: { word: `${word}-detail` }, severity: 'critical', type: `${word}.alarm`, ...body }
    const { id } = ok(await owner.post('/health-events', event), 201).json.data
    return add('health_event', id, reachedBy, `${word}-detail`, `${word}.alarm`)
  }
  const ofDesk = [`node ${desk.id}`, 'site North']
  const rec = (key: string): string => (library[key] as RecordingFacts).id
  return {
    desk: await report('hdesk', { nodeId: desk.id }, [...ofDesk, 'room hall', 'room booth']),
    vault: await report('hvault', { nodeId: vault.id }, [
      `node ${vault.id}`,
      'site South',
      'room cellar',
      'room attic',
    ]),
    loose: await report('hloose', { nodeId: loose.id }, [`node ${loose.id}`, 'site South']),
    // Of a take on the shared node: its room counts, not the other ones of the node.
    hallTake: await report('hhall', { nodeId: desk.id, recordingId: rec('hall1') }, [
      ...[`recording ${rec('hall1')}`, 'room hall', ...ofDesk],
    ]),
    boothTake: await report('hbooth', { nodeId: desk.id, recordingId: rec('booth1') }, [
      ...[`recording ${rec('booth1')}`, 'room booth', ...ofDesk],
    ]),
    hallPlan: await report('hplanh', { nodeId: desk.id, scheduleId: schedules.hall }, [
      ...[`schedule ${schedules.hall}`, 'room hall', ...ofDesk],
    ]),
    boothPlan: await report('hplanb', { nodeId: desk.id, scheduleId: schedules.booth }, [
      ...[`schedule ${schedules.booth}`, 'room booth', ...ofDesk],
    ]),
  }
}

async function mapped(owner: Client, { desk, devices, vault }: Nodes, add: Add) {
  const template = {
    channelMode: 'mono',
    entries: [{ included: true, label: 'One', sourceChannelIndex: 1 }],
    name: 'Mono',
  }
  const templateId = ok(await owner.post('/settings/channel-map-templates', template), 201).json.data.id as string
  const assign = async (targetType: 'interface' | 'node', targetId: string): Promise<string> =>
    ok(await owner.put('/settings/channel-map-assignments', { targetId, targetType, templateId }), 200).json.data.id
  const [main, spare, whole] = [
    await assign('interface', devices.main),
    await assign('interface', devices.spare),
    await assign('node', vault.id),
  ]
  const ofDesk = [`node ${desk.id}`, 'site North']
  add('channel_map_assignment', main, [`interface ${devices.main}`, ...ofDesk, 'room hall', 'room booth'])
  add('channel_map_assignment', spare, [`interface ${devices.spare}`, ...ofDesk])
  add('channel_map_assignment', whole, [`node ${vault.id}`, 'site South', 'room cellar', 'room attic'])
  return { templateId }
}

/** One switcher with two rooms of one site, one with a room of the other, one with none. */
async function wired(owner: Client, add: Add) {
  const make = async (key: string, ...rooms: Room[]): Promise<string> => {
    const body = { displayName: `${key}-matrix`, enabled: false, host: `${key}.matrix.test`, port: 1 }
    const { id } = ok(await owner.post('/settings/switchers', body), 201).json.data
    const inputs = rooms.map((roomId, i) => ({ input: i + 1, roomId }))
    ok(await owner.put(`/settings/switchers/${id}/mappings`, { inputs, outputs: [] }), 200)
    const reachedBy = rooms.flatMap((room) => [`room ${room}`, `site ${ROOMS[room]}`])
    return add('switcher', id, reachedBy, `${key}.matrix.test`, `${key}-matrix`)
  }
  return {
    both: await make('wboth', 'hall', 'booth'),
    south: await make('wsouth', 'cellar'),
    idle: await make('widle'),
  }
}
