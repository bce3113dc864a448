// Controller and agent from source, each restarted when one of its files changes. Called by scripts/dev.
import { watch } from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { bundleConsole } from './console.ts'
import { createSite, record, say } from './site.mjs'

const root = path.join(import.meta.dirname, '..')
const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: path.join(root, 'data', 'dev') },
    port: { type: 'string', default: '8787' },
    // The logs go to files only.
    quiet: { type: 'boolean', default: false },
  },
})
const site = createSite({
  command: [process.execPath, '--disable-warning=ExperimentalWarning', path.join(root, 'src', 'main.ts')],
  data: path.resolve(options.data),
  patient: true,
  port: options.port,
})
const shown = (name) => (options.quiet ? undefined : (line) => say(`${name.padEnd(12)}${line}`))

const NAMES = ['controller', 'agent']
const PEOPLE = [
  ['operator@roomtone.local', 'Olive Operator', 'operator'],
  ['viewer@roomtone.local', 'Victor Viewer', 'viewer'],
]
const ROOMS = [
  ['hall', 'Hall'],
  ['studio', 'Studio'],
]

/** Rooms, people, a schedule and two short takes; what is there already stays as it is. */
async function addDemoData(api, node, password) {
  const rooms = await idsOf(api, '/rooms')
  if (rooms.has('hall')) return
  const site = 'Demo'
  for (const [id, name] of ROOMS) await api.json('POST', '/rooms', { id, name, site })
  for (const [email, name, role] of PEOPLE) {
    const resourceGrants = [{ resourceId: '*', resourceType: '*' }]
    await api.json('POST', '/auth/users', { email, name, password, resourceGrants, roles: [role] })
  }
  const [device] = node.interfaces
  const assignments = [
    { channelIndexes: device.channels.map(({ index }) => index), interfaceId: device.id, roomId: 'hall' },
  ]
  await api.json('PUT', `/nodes/${node.id}/channel-rooms`, { assignments })
  await api.json('POST', '/schedules', {
    name: 'Morning in the hall',
    nodeId: node.id,
    captureInterfaceId: device.id,
    room: 'hall',
    timezone: 'Europe/Berlin',
    titleTemplate: '{{schedule.name}} {{date}}',
    folderTemplate: 'demo',
    recurrence: { mode: 'daily', startTime: '09:00', endTime: '09:05' },
  })
  for (const name of ['First take', 'Second take'])
    await record(api, { nodeId: node.id, captureInterfaceId: device.id, durationSeconds: 5, name, folder: 'demo' })
}

const idsOf = async (api, route) => new Set((await api.json('GET', route)).data.map(({ id }) => id))

/** A change restarts whose it is, and both where both have it. One restart at a time, for all that changed meanwhile. */
function restartOnChange() {
  const changed = new Set()
  let restarting = false
  watch(path.join(root, 'src'), { recursive: true }, async (_event, file) => {
    const [folder = ''] = file?.split(path.sep) ?? []
    for (const name of NAMES.includes(folder) ? [folder] : NAMES) changed.add(name)
    if (restarting) return
    restarting = true
    while (changed.size > 0) {
      await sleep(200) // an editor writes a file in several steps
      const names = [...changed]
      changed.clear()
      say(`\nrestarting ${names.join(' and ')}`)
      await site.restart(names)
    }
    restarting = false
  })
}

await bundleConsole(path.join(root, '.cache', 'console'))
await site.run(async () => {
  const { api, base, password } = await site.startController(shown('controller'))
  const node = await site.startAgent(api, base, shown('agent'))
  await site.orElse(addDemoData(api, node, password), 'making the demo data', 120)
  say(`\nAlso ${PEOPLE.map(([email]) => email).join(' and ')}, with the same password.`)
  say(`The console, signed in (once, within ten minutes): ${site.signInLink(base)}`)
  say('Controller and agent restart when a file below src/ changes. Ctrl-C stops them.')
  restartOnChange()
  await site.ended()
})
// The watch would keep the process.
process.exit()
