// What README and docs/install.md print, typed as it stands there: read from the documents, by `you`, on boxes with Debian.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, before, test } from 'node:test'
import { packFolder } from '../../src/system/host/archive.ts'
import { type Arch, archiveName, DIGEST, sumLine } from '../../src/system/host/release.rules.ts'
import { digestOfFile } from '../../src/system/host/release.ts'
import { executable } from '../kit/executable.ts'
import { House } from '../kit/whole.ts'
import { bootMachine, type Machine, noMachine } from './machine.ts'
import { printed, settle, stepsOf, typed as typedAsPrinted } from './printed.ts'

const ROOT = path.resolve(import.meta.dirname, '..', '..')
// The documents name the program of this architecture.
const skip = process.arch === 'x64' ? noMachine() : 'the documents install on x86_64'

let house: House
let version = ''
let fleet: Machine
let hall: Machine
let studio: Machine

before(
  async () => {
    if (skip) return
    house = await House.open()
    const boxes = ['fleet', 'hall', 'studio'].map((name) => bootMachine({ name }))
    ;[fleet, hall, studio] = (await Promise.all(boxes)) as [Machine, Machine, Machine]
    await bringRelease()
    const keys = await Promise.all([fleet, hall, studio].map(settle))
    for (const box of [fleet, hall, studio]) await box.write('/home/you/.ssh/authorized_keys', keys.join(''))
    await lay('hall', hall, '10.78.1')
    await lay('studio', studio, '10.78.2')
  },
  { timeout: 300_000 },
)
after(async () => {
  await Promise.all([fleet, hall, studio].map((box) => box?.stop()))
  await house?.close()
})

/** What `npm run release` makes of this, as far as it goes onto the boxes. */
async function bringRelease(): Promise<void> {
  const folder = house.path('built')
  fs.mkdirSync(folder)
  fs.linkSync(await executable(), path.join(folder, 'roomtone'))
  version = execFileSync(path.join(folder, 'roomtone'), ['version'], { encoding: 'utf8' }).trim()
  const args = ['--fast', '--from', folder, '--out', house.dir]
  execFileSync(process.execPath, [path.join(ROOT, 'scripts', 'package.mjs'), ...args], { stdio: 'pipe' })
  const name = archiveName(version, process.arch as Arch)
  await packFolder(folder, ['roomtone'], house.path(name))
  fs.writeFileSync(house.path(name + DIGEST), sumLine(name, await digestOfFile(house.path(name))))
  for (const file of [name, name + DIGEST]) await fleet.bring(house.path(file), `/home/you/${file}`)
  await fleet.bring(path.join(ROOT, 'scripts', 'install-controller.sh'), '/home/you/install-controller.sh')
  const deb = `roomtone_${version}_amd64.deb`
  await hall.bring(house.path(deb), `/home/you/${deb}`)
}

/** A network of the fleet's box and a recorder, with their names; a site has one for all, and names in its DNS. */
async function lay(name: string, box: Machine, net: string): Promise<void> {
  const ip = (line: string) => execFileSync('ip', line.split(' '), { stdio: 'pipe' })
  ip(`link add ${name}0 netns ${fleet.name} type veth peer name lan0 netns ${box.name}`)
  for (const [at, device, n] of [
    [fleet.name, `${name}0`, 1],
    [box.name, 'lan0', 2],
  ]) {
    ip(`-n ${at} address add ${net}.${n}/24 dev ${device}`)
    ip(`-n ${at} link set ${device} up`)
  }
  await fleet.must(`echo '127.0.0.1 recorder.example\n${net}.2 ${name}' >>/etc/hosts`)
  await box.must(`echo '${net}.1 recorder.example' >>/etc/hosts`)
}

/** As it is printed, for the version that was brought. */
const typed = (box: Machine, lines: string) => typedAsPrinted(box, lines.replaceAll('VERSION', version))

/** Types all of it, one after the other; gives what each printed. */
async function typedInTurn(box: Machine, commands: string[]): Promise<string[]> {
  const said: string[] = []
  for (const command of commands) said.push(await typed(box, command))
  return said
}

test('from nothing to a recording room, as README prints it', { skip }, async () => {
  const [controller = '', room = '', recorder = '', take = ''] = stepsOf(
    'README.md',
    'From nothing to a recording room',
  )
  await typedInTurn(fleet, printed(controller))
  const [stick, local] = ['--out /media/you/SVC-SETUP', /`(--allow-local [^`]+)` instead/.exec(room)?.[1]]
  const [write = '', ...carry] = printed(room)
  assert.ok(write.includes(stick) && local && carry.length === 1)
  await typedInTurn(fleet, [write.replace(stick, local), ...carry])
  const joined = await typedInTurn(hall, printed(recorder))
  assert.equal(joined.length, 3)
  assert.match(joined.at(-1) ?? '', /^This box has joined as "Hall recorder" \(node_[\w-]+\) and is online\.\n$/m)
  const [words = ''] = await typedInTurn(fleet, printed(take))
  assert.match(words.trim().split('\n').at(-1) ?? '', /\bcached\b/)
  const length = 'ffprobe -v error -show_entries format=duration -of csv=p=0 take.mp3'
  assert.ok(Number(await typed(hall, length)) >= 10)
})

test('another recorder by one line, as docs/install.md prints it', { skip }, async () => {
  const [enroll = '', token = '', line = ''] = stepsOf('docs/install.md', 'A new recorder')
  const login = printed(enroll).at(-1) ?? ''
  const node = /"id":"(node_[\w-]+)"/.exec(await typed(fleet, login))?.[1] ?? 'none'
  // The same prompt goes on: what was defined there is known.
  const defined = login.replace(/^api .*\n/m, '')
  const said = await typed(fleet, `${defined}${printed(token)[0]?.replaceAll('NODE', node)}`)
  const [curl = '', ask = ''] = printed(line)
  await typed(studio, curl)
  // Nothing of the site is on the box yet.
  assert.match(await typed(studio, said), / and is connected to its controller\.\n/)
  // The other way to do it has nothing left to do.
  assert.match(await typed(studio, ask.replaceAll('NODE', node)), /Nothing to do/)
})
