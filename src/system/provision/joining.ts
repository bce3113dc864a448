// Joins this box with a setup file: chooses the entry, checks whether it may, and reports the outcome.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../../kernel/fail.ts'
import { NoAnswer } from '../../kernel/http.ts'
import { isLoopback } from '../../kernel/loopback.ts'
import type { SetupEntry, SetupFile } from '../../wire/provision.ts'
import type { Controller } from '../host/ask.ts'
import { replaceFile } from '../host/files.ts'
import { PLACES } from '../host/places.ts'
import type { HeldTakes } from '../host/takes.ts'
import { type AgentSetup, JoinRefused, type SetupDone } from '../setup/options.ts'
import type { Present } from './box.ts'
import { type Box, called, candidates, spentWords } from './choose.rules.ts'

export interface BoxState {
  box: Box
  /** The node this box belongs to already. */
  joined: Present | undefined
  /** Whether root permits a setup file to take over this box, whatever its present controller. */
  mayReplace: boolean
  takes: HeldTakes
  /** Why the recorder of a box that has joined does not work, and what to do. */
  trouble: string | undefined
  /** A setup was interrupted, for example by a power cut. */
  unfinished: boolean
}

export interface JoiningParts {
  /** Whether the controller would still accept the token of an entry. @throws NoAnswer */
  isGood: (controller: Controller, entry: SetupEntry) => Promise<boolean>
  now: () => string
  say: (line: string) => void
  setUp: (options: AgentSetup) => Promise<SetupDone>
  signal: AbortSignal
  state: BoxState
  /** How long to wait for a controller that does not answer, seconds: at boot the network may come late. */
  waitSeconds: number
}

const RETRY_MS = 1000
const PERMIT =
  `To move it to another controller, root has to permit it: SVC_PROVISION_REPLACE=true in ${PLACES.provisionSettings}, or ` +
  'roomtone provision --replace --from PATH.'

/** Makes this box the node of one entry. @throws UserError; the signal's reason when aborted */
export async function joinBy(given: SetupFile, parts: JoiningParts): Promise<Outcome> {
  const { joined, mayReplace, unfinished } = parts.state
  const own = given.nodes.find(({ nodeId }) => nodeId === joined?.nodeId)
  // An interrupted setup used its token but did not finish.
  if (joined && own && unfinished) {
    const { refused: _, ...outcome } = await setUp(asPresent(given, joined), own, undefined, parts)
    return outcome
  }
  const heeded = given.replace && (mayReplace || !joined || showsItself(joined))
  if (own && !heeded) return unchanged(own, parts.state)
  if (joined) refuseToLose(given, joined, parts.state)
  const file = joined && !mayReplace ? asPresent(given, joined) : given
  const spent: string[] = []
  for (const entry of candidates(file, parts.state.box)) {
    const outcome = await tried(file, entry, parts)
    if (!outcome) spent.push(spentWords(entry, parts.now()))
    else {
      for (const words of spent) parts.say(words)
      return outcome
    }
  }
  if (own) return unchanged(own, parts.state)
  if (file !== given) spent.push(`Its present controller (${file.controllerUrl}) was asked about the token. ${PERMIT}`)
  return { result: 'refused', words: spent.join(' ') }
}

const unchanged = (entry: SetupEntry, { trouble }: BoxState): Outcome => ({
  nodeId: entry.nodeId,
  result: 'unchanged',
  words: `This box has joined as ${called(entry)} already: nothing was changed.${trouble ? ` ${trouble}` : ''}`,
})

/**
 * A box that has joined trusts its own controller, at the address and with the authority it knows: it accepts tokens that
 * one has minted. What else the file says of a controller is ignored.
 */
const asPresent = (file: SetupFile, { allowInsecure, url }: Present): SetupFile => ({
  ...file,
  allowInsecure,
  controllerCa: undefined,
  controllerUrl: url,
})

/** The controller of the file, with this box's own authority for it where the file has none. */
const controllerOf = ({ allowInsecure, controllerCa, controllerUrl }: SetupFile, joined?: Present): Controller => ({
  allowInsecure,
  ca: controllerCa ?? (controllerUrl === joined?.url ? joined.ca : undefined),
  url: controllerUrl,
})

/** Whether the present controller can prove its identity: only then can it vouch for a setup file. */
const showsItself = ({ allowInsecure, url }: Present): boolean =>
  url.startsWith('https:') ? !allowInsecure : URL.canParse(url) && isLoopback(new URL(url).hostname)

/** @throws UserError */
function refuseToLose({ nodes, replace }: SetupFile, joined: Present, { mayReplace, takes }: BoxState): void {
  const { nodeId } = joined
  if (!replace)
    throw new UserError(
      `This box belongs to the node ${nodeId} already, and was left unchanged. To make it another node, write the stick with --replace.`,
    )
  if (!mayReplace && !showsItself(joined))
    throw new UserError(
      `This box belongs to the node ${nodeId} already, and was left unchanged: its controller is reached without a trusted ` +
        `certificate and cannot vouch for this stick. ${PERMIT}`,
    )
  if (takes.running > 0)
    throw new UserError(`This box is recording as ${nodeId}: insert the stick again when the recording has ended.`)
  const stays = nodes.length === 1 && nodes[0]?.nodeId === nodeId
  if (takes.undelivered > 0 && !stays)
    throw new UserError(
      `This box holds ${takes.undelivered} takes of ${nodeId} that its controller does not have yet: as another node it could never upload them. Let it upload them first.`,
    )
}

/** Undefined when the token of this entry has been used, perhaps by another box. */
async function tried(file: SetupFile, entry: SetupEntry, parts: JoiningParts): Promise<Outcome | undefined> {
  parts.say(`Asking ${file.controllerUrl} about ${called(entry)} ...`)
  try {
    if (!(await patiently(file, entry, parts))) return undefined
    const { refused, ...outcome } = await setUp(file, entry, entry.bootstrapToken, parts)
    if (outcome.result !== 'failed') return outcome
    if (await parts.isGood(controllerOf(file, parts.state.joined), entry)) return outcome
    // Used by another box, or by this one, whose setup failed afterwards.
    return refused
      ? undefined
      : { ...outcome, words: `${outcome.words.replace(/\.?$/, '.')} The token has been used: write a new stick.` }
  } catch (e) {
    if (!(e instanceof NoAnswer)) throw e
    return { nodeId: entry.nodeId, result: 'failed', words: `${e.message}. Nothing was changed.` }
  }
}

async function patiently(file: SetupFile, entry: SetupEntry, parts: JoiningParts): Promise<boolean> {
  let told = ''
  for (const end = performance.now() + parts.waitSeconds * 1000; ; ) {
    try {
      return await parts.isGood(controllerOf(file, parts.state.joined), entry)
    } catch (e) {
      if (!(e instanceof NoAnswer) || performance.now() > end) throw e
      // Do not repeat it in the journal every second.
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
): Promise<Outcome & { refused?: boolean }> {
  const { nodeId } = entry
  try {
    const { warnings = [] } = await parts.setUp(setupOf(file, entry, bootstrapToken))
    const words = [`This box has joined as ${called(entry)} and is online.`, ...warnings].join(' ')
    return { nodeId, result: 'done', words }
  } catch (e) {
    if (!(e instanceof UserError)) throw e
    const words = `The setup as ${called(entry)} failed: ${e.message}`
    return { nodeId, refused: e instanceof JoinRefused, result: 'failed', words }
  }
}

const setupOf = (file: SetupFile, entry: SetupEntry, bootstrapToken: string | undefined): AgentSetup => ({
  ...given({ alias: entry.alias, bootstrapToken, controllerCa: file.controllerCa, room: entry.room, site: entry.site }),
  allowInsecure: file.allowInsecure,
  controllerUrl: file.controllerUrl,
  nodeId: entry.nodeId,
  packages: true,
  rejoin: bootstrapToken !== undefined,
  replace: file.replace,
  start: true,
})

type Optional = Pick<AgentSetup, 'alias' | 'bootstrapToken' | 'controllerCa' | 'room' | 'site'>
const given = (fields: { [K in keyof Optional]: Optional[K] | undefined }): Optional =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

// The result of the last stick: no secrets, readable by everybody.

export interface Outcome {
  nodeId?: string
  /**
   * done: the box has joined; unchanged: it had joined with this stick before; refused: trying again will not help; failed:
   * it may work another time.
   */
  result: 'done' | 'unchanged' | 'refused' | 'failed'
  /** One sentence or more. */
  words: string
}

/** Mode 0644 in a directory of mode 0755. */
export function writeStatus(file: string, at: string, outcome: Outcome): void {
  const dir = path.dirname(file)
  if (!fs.existsSync(dir)) {
    fs.mkdirSync(dir, { recursive: true })
    fs.chmodSync(dir, 0o755)
  }
  replaceFile(file, `${JSON.stringify({ at, ...outcome }, null, 2)}\n`, 0o644)
}
