// roomtone record: makes one take on a recorder and downloads it, to check that a new room works.

import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../../kernel/fail.ts'
import { sizeText } from '../../kernel/size.ts'
import { faultWords } from '../../kernel/words.ts'
import { HEADERS } from '../../wire/headers.ts'
import type { Recording, RecordingStart } from '../../wire/recordings.ts'
import { ask, download } from '../host/ask.ts'
import { servingOf } from '../host/serving.ts'
import { tlsOptions } from '../host/trust.ts'
import { readTake, type TakeConfig } from './config.ts'
import { dataOf, withSession } from './session.ts'

const HELP = `usage: roomtone record --controller-url URL --email EMAIL --out FILE [--room NAME | --node ID] [--seconds N]

Records on the recorder of a room, waits until the controller has the file, and writes it to FILE.

  --room NAME               the room whose recorder is used
  --node ID                 the recorder, if a room has several; without --room and --node, the only one of the fleet
  --seconds N               length of the take, up to 3600 (10)
  --out FILE                a new file, for example take.mp3; its format is that of the recording profile (MP3 by default)
  --controller-url URL      the controller (or SVC_CONTROLLER_URL)
  --standby-url URL         the second box, where there is one (or SVC_CONTROLLER_STANDBY_URL): whichever is the controller is used
  --controller-ca FILE      certificate authority of the controller (PEM)
  --allow-insecure          accept plain http to another machine, and any certificate (development only)
  --email EMAIL             your account; its password comes from --password-file FILE (- is standard input), or you are asked for it
  --session-token-file FILE a session in place of a login (or SVC_SESSION_TOKEN)
`

const READABLE_BY_OWNER = 0o600
const PAUSE_MS = 500
/** For the recorder to start, and to encode and upload the file. */
const SPARE_MS = 300_000
/** How long a takeover may take. */
const TAKEOVER_MS = 120_000
/** A take with any other status has its file. */
const UNDER_WAY: ReadonlySet<string> = new Set(['queued', 'recording', 'completed'])

type Found = { alias: string; id: string; location: { room: string; site: string }; status: string }

/** A recorder with one of these would not start; a degraded one, or one that is recording, may. */
const ABSENT: ReadonlySet<string> = new Set(['offline', 'provisioning', 'retired'])

interface Desk {
  config: TakeConfig
  signal: AbortSignal
  token: string
}

const get = async (what: string, { config, signal, token }: Desk, path: string): Promise<unknown> =>
  dataOf(what, await ask(config.controller, { method: 'GET', path, signal, token }))

/** The recorder to use. @throws UserError listing the choices */
async function recorder(desk: Desk): Promise<Found> {
  const { node, room } = desk.config
  if (node !== undefined)
    return (await get('look at the recorder', desk, `/nodes/${encodeURIComponent(node)}`)) as Found
  const query = new URLSearchParams({ limit: '200', ...(room === undefined ? {} : { room }) })
  const found = (await get('look at its recorders', desk, `/nodes?${query}`)) as Found[]
  const [only] = found
  if (found.length === 1 && only) return only
  const where = room === undefined ? '' : ` in the room "${room}"`
  if (found.length === 0) throw new UserError(`There is no recorder${where}.`)
  const lines = found.map(
    ({ alias, id, location }) => `  --node ${id}   "${alias}", ${location.site}, ${location.room}`,
  )
  throw new UserError(`There are ${found.length} recorders${where}. Choose one:\n${lines.join('\n')}`)
}

/** The take once it has ended, and where; prints its status meanwhile. @throws the signal's reason */
async function finished(begun: Desk, id: string): Promise<{ desk: Desk; take: Recording }> {
  let [before, desk] = ['', begun]
  for (;;) {
    const looked = await look(desk, id)
    desk = looked.desk
    const { status } = looked.take
    if (!UNDER_WAY.has(status)) return looked
    if (status !== before) process.stderr.write(`${status} ...\n`)
    before = status
    await sleep(PAUSE_MS, undefined, { signal: desk.signal })
  }
}

/** While one box takes over from the other neither may answer: the take goes on, and is looked at where the controller is then. */
async function look(desk: Desk, id: string): Promise<{ desk: Desk; take: Recording }> {
  const until = performance.now() + TAKEOVER_MS
  for (let at = desk; ; ) {
    try {
      return { desk: at, take: (await get('look at the take', at, `/recordings/${id}`)) as Recording }
    } catch (e) {
      if (desk.config.standbyUrl === undefined || desk.signal.aborted || performance.now() > until) throw e
      await sleep(PAUSE_MS, undefined, { signal: desk.signal })
      at = { ...desk, config: await atController(desk.config, desk.signal) }
    }
  }
}

/** A new file, the operator's own. @throws UserError when there is one, or none can be made */
function newFile({ out, owner }: TakeConfig): fs.WriteStream {
  try {
    const fd = fs.openSync(out, 'wx', READABLE_BY_OWNER)
    if (owner) fs.fchownSync(fd, owner.uid, owner.gid)
    return fs.createWriteStream('', { fd })
  } catch (e) {
    throw new UserError(`${out} cannot be created: ${faultWords(e, out)}. Nothing was recorded.`)
  }
}

/** Resolves to the take, whose file is then in `to`. @throws UserError with the reason */
async function brought(desk: Desk, to: fs.WriteStream): Promise<Recording> {
  const { controller, seconds } = desk.config
  const { alias, id: nodeId, status } = await recorder(desk)
  if (ABSENT.has(status))
    throw new UserError(`The recorder "${alias}" is ${status}: start its agent, or check its log.`)
  const body: RecordingStart = { durationSeconds: seconds, nodeId }
  const { signal, token } = desk
  const started = await ask(controller, { body, method: 'POST', path: '/recordings', signal, token })
  const { id } = dataOf('take', started) as Recording
  process.stderr.write(`"${alias}" is recording ${seconds} s as ${id}\n`)
  const { desk: last, take } = await finished(desk, id)
  if (take.status === 'failed') throw new UserError(`The take failed: ${take.failureReason ?? 'no reason was given'}.`)
  const wanted = { method: 'GET', path: `/recordings/${id}/file`, signal, token } as const
  const answer = await download(last.config.controller, wanted, to)
  if (answer.status !== 200) dataOf('download', answer)
  return take
}

/** With the address of the box that is the controller now. */
async function atController(config: TakeConfig, signal: AbortSignal): Promise<TakeConfig> {
  const { controller, standbyUrl } = config
  const { allowInsecure, ca, url } = controller
  const tls = tlsOptions({ ca }, allowInsecure)
  const serving = await servingOf([url, ...(standbyUrl ? [standbyUrl] : [])], { signal, termHeader: HEADERS.term, tls })
  return { ...config, controller: { ...controller, url: serving } }
}

async function record(given: TakeConfig): Promise<void> {
  const to = newFile(given)
  const signal = AbortSignal.timeout(given.seconds * 1000 + SPARE_MS)
  let config = given
  try {
    config = await atController(given, signal)
    const take = await withSession(config, signal, (token) => brought({ config, signal, token }, to))
    const size = sizeText(fs.statSync(config.out).size)
    process.stdout.write(`${config.out} contains the take (${size}, ${take.durationSeconds} s, ${take.status}).\n`)
  } catch (e) {
    to.destroy()
    // Leave no empty or partial file.
    fs.rmSync(config.out, { force: true })
    if (signal.aborted) throw new UserError('The recording has not finished yet: it continues, see GET /recordings.')
    throw e
  }
}

/** Exit codes: 0 the file is there, 1 not, 2 wrong usage. */
export async function main(args: string[]): Promise<number> {
  const config = readTake(args)
  if (config) await record(config)
  else process.stdout.write(HELP)
  return 0
}
