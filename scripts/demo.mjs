// A site that looks like two weeks of work: rooms, recorders that are played by this program, schedules, takes, alerts and
// uploads. Made through the API, once; what is there already stays. Called by scripts/run --demo.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { zone } from '../src/kernel/zones.ts'
import { WEEKDAYS } from '../src/wire/settings.ts'
import { ACCESS_KEY, SECRET_KEY, s3Server } from '../test/kit/s3.ts'
import { client, say } from './site.mjs'

const ROOMS = [
  [
    'Main campus',
    ['Great Hall', 'Small Hall', 'Lecture Room A', 'Lecture Room B', 'Lecture Room C', 'Library', 'Aula'],
  ],
  ['Court', ['Courtroom 1', 'Courtroom 2', 'Courtroom 3', 'Hearing Room 4', 'Council Chamber']],
  ['Music school', ['Studio', 'Organ Room', 'Choir Room', 'Chamber Hall']],
  ['Town hall', ['Assembly Room', 'Committee Room', 'Press Room', 'Registry']],
].flatMap(([site, names]) =>
  names.map((name) => ({ id: `demo-${name.toLowerCase().replaceAll(' ', '-')}`, name, site })),
)
const SUBJECTS = [
  'Anatomy',
  'Civil Law',
  'Algebra',
  'Harmony',
  'History',
  'Rhetoric',
  'Physics',
  'Budget',
  'Ethics',
  'Choir',
]
const HOURS = [9, 11, 14]
const DAYS = [['monday', 'thursday'], ['tuesday', 'friday'], ['wednesday']]
const ZONE = 'Europe/Berlin'
const TAKES = 500
/** Recorders that nobody hears from: a real site has some. */
const SILENT = 2
const DAY_MS = 86_400_000
const ALERTS = [
  ['critical', 'watchdog.flatline', { channelIndex: 1, seconds: 120 }],
  ['warning', 'watchdog.clipping', { channelIndex: 2, peakDbfs: 0 }],
  ['warning', 'watchdog.quality_anomaly', { channelIndex: 1, humScore: 0.8 }],
  ['info', 'watchdog.scheduled_low_signal', { channelIndex: 1, levelDbfs: -58 }],
]

/** `data`: the directory of the site; `api`: the owner's client. @returns what plays the recorders from now on */
export async function fillDemo({ api, base, data }) {
  const file = path.join(data, 'demo.json')
  const known = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : { nodes: {} }
  await refuseRealData(api, new Set(Object.values(known.nodes).map(({ id }) => id)))
  const { data: settings } = await api.json('GET', '/settings/controller')
  if (settings.siteName === '')
    await api.json('PATCH', '/settings/controller', { siteName: 'Roomtone Demo', timezone: ZONE })
  const archive = await s3Server()
  await addUploads(api, archive.endpoint)
  const recorders = []
  for (const [i, room] of ROOMS.entries()) {
    known.nodes[room.id] ??= await enroll(api, room)
    fs.writeFileSync(file, JSON.stringify(known), { mode: 0o600 })
    recorders.push({ ...known.nodes[room.id], i, room, agent: client(base, known.nodes[room.id].token) })
  }
  await addPlaces(api, recorders)
  const sounds = makeSounds(path.join(data, 'demo-sounds'))
  let made = 0
  await Promise.all(
    recorders.map((one) =>
      addTakes(api, one, sounds, path.join(data, 'controller', 'roomtone.db'), () => {
        made++
        if (made % 50 === 0) say(`  ${made} takes`)
      }),
    ),
  )
  await addAlerts(api, recorders)
  return () => play(recorders.slice(0, -SILENT), sounds)
}

/** @throws Error unless everything there is was made here */
async function refuseRealData(api, own) {
  const of = async (route) => (await api.json('GET', route)).data
  const nodes = [...(await of('/nodes')), ...(await of('/nodes?retired=1'))].filter(({ id }) => !own.has(id))
  const rooms = (await of('/rooms')).filter(({ id }) => !ROOMS.some((room) => room.id === id))
  const takes = (await of('/recordings?limit=200')).filter(({ nodeId }) => !own.has(nodeId))
  const found = [nodes.length && 'recorders', rooms.length && 'rooms', takes.length && 'takes'].filter(Boolean)
  if (found.length > 0)
    throw new Error(
      `There are ${found.join(' and ')} of somebody here: --demo takes a directory of its own (--data DIR).`,
    )
}

const DEVICE = {
  alias: 'Desk',
  backend: 'alsa',
  sampleRates: [48000],
  systemName: 'USB Desk',
  systemRef: 'hw:CARD=Desk,DEV=0',
}
const CHANNELS = ['Lectern', 'Audience'].map((alias, i) => ({ alias, index: i + 1 }))

async function enroll(api, { id, name, site }) {
  const { data } = await api.json('POST', '/nodes/enroll', {
    agentVersion: '0.1.0',
    alias: `${name} recorder`,
    hostname: id,
    interfaces: [{ ...DEVICE, channelCount: 2, channels: CHANNELS }],
    ipAddresses: [`10.20.0.${10 + ROOMS.findIndex((room) => room.id === id)}`],
    location: { room: name, site },
    tags: ['demo'],
  })
  const [device] = data.node.interfaces
  return { id: data.node.id, interfaceId: device.id, token: data.credential.token }
}

async function addUploads(api, endpoint) {
  const ids = async (family) => new Set((await api.json('GET', `/settings/${family}`)).data.map(({ id }) => id))
  const destinations = await ids('upload-destinations')
  const s3 = { accessKeyId: ACCESS_KEY, bucket: 'takes', endpoint, forcePathStyle: true, region: 'eu-central-1' }
  const told = { displayName: 'Archive', enabled: true, s3, s3SecretAccessKey: SECRET_KEY }
  // The archive is a part of this program, on another port each time.
  if (destinations.has('demo-archive')) await api.json('PATCH', '/settings/upload-destinations/demo-archive', told)
  else await api.json('POST', '/settings/upload-destinations', { ...told, id: 'demo-archive', kind: 's3' })
  if (!destinations.has('demo-offsite'))
    await api.json('POST', '/settings/upload-destinations', {
      displayName: 'Off-site copy',
      enabled: true,
      id: 'demo-offsite',
      kind: 's3',
      s3: { ...s3, endpoint: 'http://127.0.0.1:9' },
      s3SecretAccessKey: SECRET_KEY,
    })
  const policies = await ids('upload-policies')
  for (const [id, name] of [
    ['demo-archive', 'Everything to the archive'],
    ['demo-offsite', 'Copy off site'],
  ])
    if (!policies.has(id))
      await api.json('POST', '/settings/upload-policies', {
        ...{ destinationId: id, enabled: true, id, maxAttempts: 3, name, trigger: 'on_recording_cached' },
      })
}

async function addPlaces(api, recorders) {
  const rooms = new Set((await api.json('GET', '/rooms')).data.map(({ id }) => id))
  for (const { i, id, room } of recorders) {
    if (!rooms.has(room.id)) await api.json('POST', '/rooms', { ...room, floor: String(i % 3) })
    await api.json('PATCH', `/nodes/${id}`, { roomId: room.id })
  }
  const { data: schedules } = await api.json('GET', '/schedules?limit=200')
  const there = new Set(schedules.map(({ id }) => id))
  for (const { i, id, interfaceId, room } of recorders)
    for (const [n, hour] of HOURS.entries()) {
      const scheduleId = `${room.id}-${n}`
      if (there.has(scheduleId)) continue
      const subject = SUBJECTS[(i + n * 3) % SUBJECTS.length]
      const startTime = `${String(hour).padStart(2, '0')}:00`
      const endTime = `${String(hour + 1).padStart(2, '0')}:30`
      await api.json('POST', '/schedules', {
        captureInterfaceId: interfaceId,
        folderTemplate: subject,
        id: scheduleId,
        name: `${subject}, ${room.name}`,
        nodeId: id,
        recurrence: { daysOfWeek: DAYS[(i + n) % DAYS.length], endTime, mode: 'weekly', startTime },
        room: room.name,
        tags: ['demo', subject],
        timezone: ZONE,
        titleTemplate: '{{schedule.name}} {{date}}',
        uploadPolicyIds: i % 5 === 0 ? ['demo-archive', 'demo-offsite'] : ['demo-archive'],
      })
    }
}

/** Something with the rhythm and the colour of speech, and some music. */
function makeSounds(dir) {
  fs.mkdirSync(dir, { recursive: true })
  return Array.from({ length: 8 }, (_, i) => {
    const file = path.join(dir, `${i}.mp3`)
    const seconds = 20 + i * 4
    const voice = `anoisesrc=color=pink:seed=${i + 1}:d=${seconds}:a=0.9,tremolo=f=${3 + i / 4}:d=0.95,tremolo=f=0.${i + 2}:d=0.8`
    const music = `aevalsrc='0.3*sin(2*PI*${220 + 20 * i}*t)*exp(-3*mod(t,1))+0.2*sin(2*PI*${330 + 30 * i}*t)*exp(-2*mod(t,0.5))':d=${seconds}`
    const source =
      i % 4 === 3 ? music : `${voice},bandpass=f=${500 + 90 * i}:width_type=o:w=2,volume=${4 + (i % 3) * 3}dB`
    const args = ['-nostdin', '-v', 'error', '-y', '-f', 'lavfi', '-i', source, '-ac', '1', '-b:a', '48k', file]
    if (!fs.existsSync(file)) execFileSync('ffmpeg', args)
    return { bytes: fs.readFileSync(file), seconds }
  })
}

/** The past of one room: its share of the takes, run by its schedules and then put where they would have been. */
async function addTakes(api, recorder, sounds, database, told) {
  const { agent, i, id, room } = recorder
  await beat(agent, recorder)
  const { meta } = await api.json('GET', `/recordings?nodeId=${encodeURIComponent(id)}&limit=1`)
  const dates = workdays(Math.ceil(TAKES / ROOMS.length))
  for (let n = meta.total; n < dates.length; n++) {
    const weekday = WEEKDAYS[new Date(dates[n]).getUTCDay()]
    const slot = HOURS.findIndex((_, k) => DAYS[(i + k) % DAYS.length].includes(weekday))
    const { data: take } = await api.json('POST', `/schedules/${room.id}-${slot}/run-now`)
    const sound = sounds[(i + n) % sounds.length]
    const job = await claim(agent, id)
    if (!job) throw new Error(`the take of ${room.name} could not be claimed`)
    await deliver(agent, job, sound, n % 9 === 4)
    const at = new Date(zone(ZONE).at(dates[n] / DAY_MS, HOURS[slot] * 60))
    const [subject] = take.name.split(',')
    await api.json('PATCH', `/recordings/${take.id}/metadata`, {
      name: `${subject}, ${room.name} ${at.toISOString().slice(0, 10)}`,
    })
    putBack(database, take.id, at, sound.seconds)
    told()
  }
}

/** Midnights (UTC, Unix ms) of workdays before today, the newest first. */
function workdays(count) {
  const days = []
  for (let at = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS; days.length < count; at -= DAY_MS)
    if (![0, 6].includes(new Date(at).getUTCDay())) days.push(at)
  return days
}

/** No request makes a take of yesterday: that is told the database, between two of its own writes. */
function putBack(database, recordingId, at, seconds) {
  const db = new DatabaseSync(database, { timeout: 10_000 })
  const [from, to] = [at.toISOString(), new Date(at.getTime() + seconds * 1000).toISOString()]
  db.prepare('UPDATE recordings SET recorded_at = ? WHERE id = ?').run(from, recordingId)
  db.prepare('UPDATE recording_jobs SET created_at = ?, started_at = ?, completed_at = ? WHERE recording_id = ?').run(
    ...[from, from, to, recordingId],
  )
  db.close()
}

async function addAlerts(api, recorders) {
  const { data: there } = await api.json('GET', '/health-events?search=watchdog&limit=1')
  if (there.length > 0) return
  for (const { i, id } of recorders)
    for (let n = 0; n < 1 + (i % 3); n++) {
      const [severity, type, details] = ALERTS[(i + n) % ALERTS.length]
      const openedAt = new Date(Date.now() - ((i * 7 + n * 31) % 300) * 3_600_000).toISOString()
      const { data: event } = await api.json('POST', '/health-events', {
        details,
        nodeId: id,
        openedAt,
        severity,
        type,
      })
      if ((i + 2 * n) % 5 !== 0) await api.json('POST', `/health-events/${event.id}/resolve`, { note: 'Looked after' })
    }
}

const beat = (agent, { id, room }) =>
  agent.raw('POST', `/nodes/${id}/heartbeat`, { agentVersion: '0.1.0', hostname: room.id, status: 'online' })

/** The next job of a recorder, or nothing. */
async function claim(agent, id) {
  const response = await agent.raw('POST', `/nodes/${id}/recording-jobs/claim-next`, {})
  return response.status === 204 ? undefined : (await response.json()).data
}

async function deliver(agent, { id, recordingId }, { bytes, seconds }, gap) {
  const details = {
    capture: { channels: 2, format: 'S24_3LE', sampleRate: 48000 },
    loudness: { integratedLufs: -16.4, truePeakDbtp: -1.6 },
    ...(gap ? { gapCount: 1, gapSeconds: 1.5, gaps: [{ atSeconds: seconds / 2, seconds: 1.5 }] } : {}),
  }
  await agent.raw('PUT', `/recordings/${recordingId}/cache-file`, bytes, {
    'content-digest': `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`,
    'content-type': 'audio/mpeg',
    'x-svc-duration-seconds': String(seconds),
    'x-svc-file-name': `${recordingId}.mp3`,
    'x-svc-recording-job-id': id,
    'x-svc-rendition-details': encodeURIComponent(JSON.stringify(details)),
  })
}

/** Keeps the recorders alive: heartbeats, levels, and takes that are due or asked for. Goes on until the program ends. */
function play(recorders, sounds) {
  for (const recorder of recorders) {
    every(5000, () => beat(recorder.agent, recorder))
    every(1000, () => meter(recorder))
    every(5000, () => record(recorder, sounds))
  }
}

/** An outage of the controller, or its end, is no reason to stop. */
async function every(ms, work) {
  await sleep(Math.random() * ms)
  for (;;) {
    await work().catch(() => {})
    await sleep(ms)
  }
}

function meter({ agent, i, id, interfaceId }) {
  const talk = Math.sin(Date.now() / 4000 + i) > -0.5
  const levels = CHANNELS.map(({ alias, index }) => {
    const rms = (talk && index === 1 + (i % 2) ? -24 : -52) + Math.random() * 8
    const peak = Math.min(-0.5, rms + 9 + Math.random() * 5)
    return { channelIndex: index, clipping: false, label: alias, peakDbfs: peak, rmsDbfs: rms }
  })
  const frame = { capturedAt: new Date().toISOString(), interfaceId, levels, nodeId: id, synthetic: true }
  return agent.raw('POST', `/nodes/${id}/meter-frame`, frame)
}

/** A take that is due: kept alive until its time is over or somebody stops it. */
async function record({ agent, i, id }, sounds) {
  const job = await claim(agent, id)
  if (!job) return
  const end = Date.now() + job.command.durationSeconds * 1000
  for (;;) {
    const { data } = await agent.json('POST', `/recording-jobs/${job.id}/heartbeat`, {})
    if (data.status !== 'running' || Date.now() >= end) break
    await sleep(2000)
  }
  await deliver(agent, job, sounds[i % sounds.length], false)
}
