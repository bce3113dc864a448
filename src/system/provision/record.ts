// roomtone record: one take on a recorder, waited for and brought here; to hear whether a new room works.

import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../../kernel/fail.ts'
import { sizeText } from '../../kernel/size.ts'
import { faultWords } from '../../kernel/words.ts'
import type { Recording, RecordingStart } from '../../wire/recordings.ts'
import { ask, download } from '../host/ask.ts'
import { readTake, type TakeConfig } from './config.ts'
import { dataOf, withSession } from './session.ts'

const HELP = `usage: roomtone record --controller-url URL --email EMAIL --out FILE [--room NAME | --node ID] [--seconds N]

Records on the recorder of a room, waits until the controller has the file, and writes it to FILE.

  --room NAME               the room; its recorder is found by it
  --node ID                 the recorder, where a room has several; without both, the only one there is
  --seconds N               length of the take, up to 3600 (10)
  --out FILE                a new file, for example take.mp3; what is in it is what the recording profile says (MP3 unless changed)
  --controller-url URL      the controller (or SVC_CONTROLLER_URL)
  --controller-ca FILE      certificate authority of the controller (PEM)
  --allow-insecure          permit plain http and any certificate, for development
  --email EMAIL             your account; its password comes from --password-file FILE (- is standard input), or is asked for
  --session-token-file FILE a session in place of a login (or SVC_SESSION_TOKEN)
`

const READABLE_BY_OWNER = 0o600
const PAUSE_MS = 500
/** For the recorder to begin, and for its file to be made and sent. */
const SPARE_MS = 300_000
/** What a take goes through; whatever else it becomes, there is a file. */
const UNDER_WAY: ReadonlySet<string> = new Set(['queued', 'recording', 'completed'])

type Found = { alias: string; id: string; location: { room: string; site: string }; status: string }

/** Of a recorder that would not begin; a degraded one, or one that records already, may. */
const ABSENT: ReadonlySet<string> = new Set(['offline', 'provisioning', 'retired'])

interface Desk {
  config: TakeConfig
  signal: AbortSignal
  token: string
}

const get = async (what: string, { config, signal, token }: Desk, path: string): Promise<unknown> =>
  dataOf(what, await ask(config.controller, { method: 'GET', path, signal, token }))

/** The one recorder that is meant. @throws UserError naming those there are */
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

/** The take once nothing more happens to it; says what it is doing meanwhile. @throws the signal's reason */
async function finished(desk: Desk, id: string): Promise<Recording> {
  let before = ''
  for (;;) {
    const take = (await get('look at the take', desk, `/recordings/${id}`)) as Recording
    if (!UNDER_WAY.has(take.status)) return take
    if (take.status !== before) process.stderr.write(`${take.status} ...\n`)
    before = take.status
    await sleep(PAUSE_MS, undefined, { signal: desk.signal })
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
  if (ABSENT.has(status)) throw new UserError(`The recorder "${alias}" is ${status}: start it, or check its log.`)
  const body: RecordingStart = { durationSeconds: seconds, nodeId }
  const { signal, token } = desk
  const started = await ask(controller, { body, method: 'POST', path: '/recordings', signal, token })
  const { id } = dataOf('take', started) as Recording
  process.stderr.write(`"${alias}" records ${seconds} s as ${id}\n`)
  const take = await finished(desk, id)
  if (take.status === 'failed') throw new UserError(`The take failed: ${take.failureReason ?? 'no reason was given'}.`)
  const answer = await download(controller, { method: 'GET', path: `/recordings/${id}/file`, signal, token }, to)
  if (answer.status !== 200) dataOf('download', answer)
  return take
}

async function record(config: TakeConfig): Promise<void> {
  const to = newFile(config)
  const signal = AbortSignal.timeout(config.seconds * 1000 + SPARE_MS)
  try {
    const take = await withSession(config, signal, (token) => brought({ config, signal, token }, to))
    const size = sizeText(fs.statSync(config.out).size)
    process.stdout.write(`${config.out} holds the take (${size}, ${take.durationSeconds} s, ${take.status}).\n`)
  } catch (e) {
    to.destroy()
    // Without the take it would be an empty or a broken file of sound.
    fs.rmSync(config.out, { force: true })
    if (signal.aborted) throw new UserError('The recording has not finished yet: it continues, see GET /recordings.')
    throw e
  }
}

/** Exit codes: 0 the file is there, 1 not, 2 asked wrongly. */
export async function main(args: string[]): Promise<number> {
  const config = readTake(args)
  if (config) await record(config)
  else process.stdout.write(HELP)
  return 0
}
