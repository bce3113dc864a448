// One controller and one agent on this machine, over the real API, up to a take that plays back. Called by scripts/run.
import { execFileSync, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { createSite, record, say } from './site.mjs'

const { values: options } = parseArgs({
  options: {
    data: { type: 'string' },
    // A whole made-up site in place of one room.
    demo: { type: 'boolean', default: false },
    // Reached by other machines of a private network too, without encryption: for a look from a phone.
    network: { type: 'boolean', default: false },
    port: { type: 'string', default: '8787' },
    seconds: { type: 'string', default: '10' },
    once: { type: 'boolean', default: false },
  },
})
const data = path.resolve(options.data ?? (options.demo ? 'data/demo' : 'data'))
const command = [path.join(import.meta.dirname, '..', 'dist', 'roomtone')]
const site = createSite({ command, data, network: options.network, port: options.port })

async function download(api, recording) {
  const response = await api.raw('GET', `/recordings/${recording.id}/file`)
  const ending = { 'audio/mpeg': 'mp3', 'audio/flac': 'flac', 'audio/wav': 'wav' }[response.headers.get('content-type')]
  const file = path.join(data, 'takes', `${recording.id}.${ending}`)
  fs.mkdirSync(path.dirname(file), { recursive: true })
  await pipeline(Readable.fromWeb(response.body), fs.createWriteStream(file))
  return file
}

function describe(file) {
  const probe = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file]
  const length = Number(execFileSync('ffprobe', probe, { encoding: 'utf8' })).toFixed(2)
  const listen = ['-nostdin', '-hide_banner', '-i', file, '-af', 'volumedetect', '-f', 'null', '-']
  const { stderr } = spawnSync('ffmpeg', listen, { encoding: 'utf8' })
  const level = (name) => new RegExp(`${name}: (\\S+)`).exec(stderr)?.[1] ?? 'unknown'
  return `${length} s, mean ${level('mean_volume')} dBFS, peak ${level('max_volume')} dBFS`
}

/** The first room, so that the console has something to show; a node that somebody gave a room keeps it. */
async function addRoom(api, node) {
  if (node.roomId) return
  const { data: rooms } = await api.json('GET', '/rooms')
  if (rooms.length > 0) return
  const { site: place, room: name } = node.location
  const { data: room } = await api.json('POST', '/rooms', { name, site: place })
  await api.json('PATCH', `/nodes/${node.id}`, { roomId: room.id })
}

async function demo(api, base) {
  say('\nmaking a site of 20 rooms and 500 takes')
  const { fillDemo } = await import('./demo.mjs')
  const play = await site.orElse(fillDemo({ api, base, data }), 'making the demo', 900)
  play()
}

async function oneTake(api, base) {
  const node = await site.startAgent(api, base)
  await addRoom(api, node)
  const seconds = Number(options.seconds)
  say(`\nrecording ${seconds} s`)
  const request = { nodeId: node.id, captureInterfaceId: node.interfaces[0].id, durationSeconds: seconds }
  const take = record(api, request, (status) => say(`  ${status}`))
  const file = await download(api, await site.orElse(take, 'recording', seconds + 120))
  say(`\ntake        ${file}\n            ${describe(file)}`)
}

await site.run(async () => {
  const { api, base } = await site.startController()
  if (options.demo) await demo(api, base)
  else await oneTake(api, base)
  if (options.once) return
  say(`\nThe console, signed in (once, on this machine, within ten minutes):\n${site.signInLink(base)}`)
  say('\nCtrl-C stops everything.')
  await site.ended()
})
// What plays the recorders would keep the process.
process.exit()
