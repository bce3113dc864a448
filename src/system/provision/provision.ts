// roomtone provision: makes this box a recorder with a setup file from a stick, the boot partition, or by hand.

import { parseArgs } from 'node:util'
import { iso, systemClock } from '../../kernel/clock.ts'
import { misuse, UserError } from '../../kernel/fail.ts'
import { faultWords } from '../../kernel/words.ts'
import { SETUP_FILE, type SetupFile } from '../../wire/provision.ts'
import { wouldTake } from '../host/ask.ts'
import { readOnlineSign } from '../host/onlinesign.ts'
import { PLACES, UNITS } from '../host/places.ts'
import { agentDir, heldTakes } from '../host/takes.ts'
import { prepareAgent, setupAgent } from '../setup/agent.ts'
import { exclusively, JOURNAL_DIR, takeBackUnfinished } from '../setup/engine.ts'
import { Journal } from '../setup/journal.ts'
import type { SetupParts } from '../setup/options.ts'
import { mainPid } from '../setup/service.ts'
import { onboardedAs, thisBox } from './box.ts'
import { without } from './choose.rules.ts'
import { type BoxState, type JoiningParts, joinBy, type Outcome, writeStatus } from './joining.ts'
import { readPermits } from './permits.ts'
import { parseSetupFile } from './setupfile.rules.ts'
import { type Source, sourceOf } from './source.ts'
import { type Errand, runErrand, STICK_FLAG } from './stick.ts'

const HELP = `usage: roomtone provision --from PATH [--from PATH ...] [--wait SECONDS] [--discard] [--replace]
       roomtone provision --prepare

Makes this box a recorder with the file ${SETUP_FILE} written by roomtone usb-config. PATH is that file, a directory that
contains it, a stick (for example /dev/disk/by-label/SVC-SETUP) or the image of one (FAT); the first one found is used.
A prepared box does this by itself when a stick with the label SVC-SETUP is inserted.

  --prepare        prepare the box for a stick: program, users, units (the Debian package does the same)
  --wait SECONDS   how long to wait for a controller that does not answer yet (0)
  --replace        accept the file even if the box has joined and its present controller does not vouch for the file
  --discard        overwrite and remove the file once the box has joined: it holds a token

The result is printed and written to ${PLACES.setupStatus}. Exit codes: 0 the box has joined, now or before;
1 it has not; 2 wrong usage. Needs root.
`

/** The state of the box is read after the file. */
type Waiting = Omit<JoiningParts, 'state'> & { state: () => Promise<BoxState> }

async function outcomeOf(source: Source, parts: Waiting): Promise<{ file?: SetupFile; outcome: Outcome }> {
  let file: SetupFile | undefined
  let result: Outcome['result'] = 'refused'
  try {
    file = parseSetupFile(await source.read())
    // From here on the box may be the problem, not the file.
    result = 'failed'
    const state = await parts.state()
    result = 'refused'
    return { file, outcome: await joinBy(file, { ...parts, state }) }
  } catch (e) {
    if (!(e instanceof UserError)) throw e
    const outcome = { result: parts.signal.aborted ? ('failed' as const) : result, words: e.message }
    return { ...(file ? { file } : {}), outcome }
  }
}

/** The state of this box, after completing an interrupted undo. @throws UserError while another setup runs */
async function stateOf(parts: SetupParts, mayReplace: boolean): Promise<BoxState> {
  const journal = () => new Journal(JOURNAL_DIR)
  await exclusively(async () => (journal().undoing ? await takeBackUnfinished(parts) : undefined))
  const joined = onboardedAs(PLACES.agentSettings)
  return {
    box: thisBox(),
    joined,
    mayReplace,
    takes: heldTakes(),
    trouble: joined && (await agentTrouble()),
    unfinished: journal().changes.length > 0,
  }
}

/** For a box that joined earlier: the setup does not wait for its agent. */
async function agentTrouble(): Promise<string | undefined> {
  const pid = await mainPid(UNITS.agent)
  if (pid === 0)
    return `But its agent is not running, so it cannot record: start it with sudo systemctl enable --now ${UNITS.agent}`
  const sign = readOnlineSign(agentDir())
  if (sign?.online && sign.pid === pid) return undefined
  return `But it is offline at the moment: see journalctl -u ${UNITS.agent}`
}

/** Whether the box has joined, now or before. */
const joined = ({ result }: Outcome): boolean => result === 'done' || result === 'unchanged'

/** Writes the outcome back to where the file came from, if it asks for that. */
async function leaveWord(source: Source, file: SetupFile | undefined, outcome: Outcome, at: string): Promise<void> {
  if (!file?.writeBack) return
  const left = outcome.result === 'done' && outcome.nodeId ? without(file, outcome.nodeId) : undefined
  const words = `${at} ${thisBox().hostname}: ${outcome.words}`
  await source.report({ words, ...(left ? { file: `${JSON.stringify(left, null, 2)}\n` } : {}) })
}

interface Options {
  discard: boolean
  from: string[]
  replace: boolean
  say: (line: string) => void
  signal: AbortSignal
  waitSeconds: number
}

async function provision({ discard, from, replace, say, signal, waitSeconds }: Options): Promise<number> {
  const now = () => iso(systemClock.now())
  const permits = readPermits(PLACES.provisionSettings)
  const source = sourceOf(from, permits, signal)
  const { file, outcome } = await outcomeOf(source, {
    isGood: (controller, { bootstrapToken: token, nodeId }) =>
      wouldTake({ ...controller, caOption: 'roomtone usb-config --controller-ca' }, { nodeId, signal, token }),
    now,
    say,
    setUp: (options) => setupAgent(options, { say, signal }),
    signal,
    state: () => stateOf({ say, signal }, permits.replace || replace),
    waitSeconds,
  })
  say(outcome.words)
  writeStatus(PLACES.setupStatus, now(), outcome)
  try {
    await leaveWord(source, file, outcome, now())
    if (discard && joined(outcome)) source.discard()
  } catch (e) {
    // The box has joined or not, whether or not this can be written.
    say(`The result could not be written back: ${faultWords(e)}`)
  }
  return joined(outcome) ? 0 : 1
}

/** Text of standard input to its end. */
async function stdin(): Promise<string> {
  let text = ''
  for await (const piece of process.stdin.setEncoding('utf8')) text += piece
  return text
}

/** The child that looks into a stick, see stick.ts. */
async function onStick(device: string): Promise<number> {
  print(JSON.stringify(await runErrand(device, JSON.parse(await stdin()) as Errand)))
  return 0
}

/** Aborted by the first signal; the setup is then undone. */
function stopping(): AbortSignal {
  const aborting = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () => aborting.abort(new UserError(`Stopped by ${name}.`)))
  return aborting.signal
}

const OPTIONS = {
  discard: { type: 'boolean', default: false },
  from: { type: 'string', multiple: true, default: [] as string[] },
  help: { type: 'boolean', short: 'h', default: false },
  prepare: { type: 'boolean', default: false },
  replace: { type: 'boolean', default: false },
  wait: { type: 'string', default: '0' },
} as const

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Exit codes: 0 joined, 1 not, 2 wrong usage. */
export async function main(args: string[]): Promise<number> {
  if (args[0] === STICK_FLAG && args[1]) return await onStick(args[1])
  const { discard, from, help, prepare, replace, wait } = parseArgs({ args, options: OPTIONS }).values
  if (help) {
    process.stdout.write(HELP)
    return 0
  }
  if (prepare === from.length > 0) throw misuse('pass either --from PATH or --prepare: see roomtone provision --help')
  if (!/^\d{1,4}$/.test(wait)) throw misuse('--wait expects a number of seconds from 0 to 9999')
  if (process.getuid?.() !== 0) throw misuse('only root can set up this box: run it with sudo')
  const parts = { say: print, signal: stopping() }
  if (!prepare) return await provision({ discard, from, replace, waitSeconds: Number(wait), ...parts })
  const { changed } = await prepareAgent(true, parts)
  print(
    changed.length > 0 ? 'This box is ready for a setup stick.' : 'This box was already prepared: nothing was changed.',
  )
  return 0
}
