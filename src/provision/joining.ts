// From the setup file to a node that is online: which entry, whether it may, and what is said when it does not come about.
import { setTimeout as sleep } from 'node:timers/promises'
import type { HeldTakes } from '../host/takes.ts'
import { type AgentWish, type SetupDone, SetupFailed } from '../setup/wish.ts'
import type { SetupEntry, SetupFile } from '../wire/provision.ts'
import { type Answer, NoAnswer } from './ask.ts'
import { type Box, called, candidates, spentWords } from './choose.rules.ts'
import { Refused } from './setupfile.rules.ts'
import type { Outcome } from './status.ts'

export interface BoxState {
  box: Box
  /** The node this box belongs to already. */
  joined: string | undefined
  takes: HeldTakes
  /** A setup was cut off half way by a power cut. */
  unfinished: boolean
}

export interface JoiningParts {
  /** Whether the token of an entry would still be taken. @throws NoAnswer */
  isGood: (file: SetupFile, entry: SetupEntry) => Promise<boolean>
  now: () => string
  say: (line: string) => void
  setUp: (wish: AgentWish) => Promise<SetupDone>
  signal: AbortSignal
  state: BoxState
  /** How long a controller that does not answer is waited for, seconds: at power-on the network may come late. */
  waitSeconds: number
}

const RETRY_MS = 1000

/** Makes this box the node of one entry. @throws Refused; the signal's reason when aborted */
export async function joinBy(file: SetupFile, parts: JoiningParts): Promise<Outcome> {
  const { joined, unfinished } = parts.state
  const own = file.nodes.find(({ nodeId }) => nodeId === joined)
  // Its token is spent, but the power went before the rest was done.
  if (own && unfinished) return await setUp(file, own, undefined, parts)
  if (own && !file.replace) return unchanged(own)
  if (joined !== undefined) mayReplace(file, joined, parts.state)
  const spent: string[] = []
  for (const entry of candidates(file, parts.state.box)) {
    const outcome = await tried(file, entry, parts)
    if (outcome) return outcome
    spent.push(spentWords(entry, parts.now()))
    parts.say(spent.at(-1) as string)
  }
  return own ? unchanged(own) : { result: 'refused', words: spent.join(' ') }
}

const unchanged = (entry: SetupEntry): Outcome => ({
  nodeId: entry.nodeId,
  result: 'unchanged',
  words: `This box has joined as ${called(entry)} already: nothing was changed.`,
})

/** @throws Refused */
function mayReplace({ nodes, replace }: SetupFile, joined: string, { takes }: BoxState): void {
  if (!replace)
    throw new Refused(
      `This box belongs to the node ${joined} already, and was left as it is. To make it another one, write the stick with --replace.`,
    )
  if (takes.running > 0)
    throw new Refused(`This box records as ${joined}: put the stick in again when the take has ended.`)
  const stays = nodes.length === 1 && nodes[0]?.nodeId === joined
  if (takes.undelivered > 0 && !stays)
    throw new Refused(
      `This box holds ${takes.undelivered} takes of ${joined} that its controller does not have yet: as another node it could never deliver them. Let it deliver them first.`,
    )
}

/** Undefined when the token of this entry is spent: somebody else may have been faster. */
async function tried(file: SetupFile, entry: SetupEntry, parts: JoiningParts): Promise<Outcome | undefined> {
  parts.say(`Asking ${file.controllerUrl} about ${called(entry)} ...`)
  try {
    if (!(await patiently(file, entry, parts))) return undefined
    const outcome = await setUp(file, entry, entry.bootstrapToken, parts)
    if (outcome.result !== 'failed') return outcome
    return (await parts.isGood(file, entry)) ? outcome : undefined
  } catch (e) {
    if (!(e instanceof NoAnswer)) throw e
    return { nodeId: entry.nodeId, result: 'failed', words: `${e.message}. Nothing was changed.` }
  }
}

async function patiently(file: SetupFile, entry: SetupEntry, parts: JoiningParts): Promise<boolean> {
  let told = ''
  for (const end = performance.now() + parts.waitSeconds * 1000; ; ) {
    try {
      return await parts.isGood(file, entry)
    } catch (e) {
      if (!(e instanceof NoAnswer) || performance.now() > end) throw e
      // Every second the same: once is enough for the journal.
      if (e.message !== told) parts.say(`${e.message}; trying again.`)
      told = e.message
      await sleep(RETRY_MS, undefined, { signal: parts.signal })
    }
  }
}

async function setUp(
  file: SetupFile,
  entry: SetupEntry,
  bootstrapToken: string | undefined,
  parts: JoiningParts,
): Promise<Outcome> {
  const { nodeId } = entry
  try {
    const { warnings = [] } = await parts.setUp(wishOf(file, entry, bootstrapToken))
    const words = [`This box has joined as ${called(entry)} and is online.`, ...warnings].join(' ')
    return { nodeId, result: 'done', words }
  } catch (e) {
    if (!(e instanceof SetupFailed)) throw e
    return { nodeId, result: 'failed', words: `The setup as ${called(entry)} failed: ${e.message}` }
  }
}

const wishOf = (file: SetupFile, entry: SetupEntry, bootstrapToken: string | undefined): AgentWish => ({
  ...given({ alias: entry.alias, bootstrapToken, controllerCa: file.controllerCa, room: entry.room, site: entry.site }),
  allowInsecure: file.allowInsecure,
  controllerUrl: file.controllerUrl,
  nodeId: entry.nodeId,
  packages: true,
  rejoin: bootstrapToken !== undefined,
  replace: file.replace,
  start: true,
})

type Optional = Pick<AgentWish, 'alias' | 'bootstrapToken' | 'controllerCa' | 'room' | 'site'>
const given = (fields: { [K in keyof Optional]: Optional[K] | undefined }): Optional =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** What the controller's answer says about a token; it is looked at, never spent. @throws NoAnswer when it says nothing. */
export function tokenIsGood({ status }: Answer, url: string): boolean {
  if (status === 401) return false
  if (status === 429 || status >= 500) throw new NoAnswer(`${url} is busy (status ${status})`)
  return true
}
