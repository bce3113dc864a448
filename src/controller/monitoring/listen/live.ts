import { type Clock, iso } from '../../../kernel/clock.ts'
import type { UserPrincipal } from '../../http/principal.ts'
import type { Principals } from '../../http/principals.ts'
import type { Source } from '../../http/streams.ts'
import { canHear, channelVisibility } from '../meters/channelvisibility.rules.ts'
import type { LayoutStore } from '../meters/layout.store.ts'
import type { Chunks } from './chunks.store.ts'
import { type Chunk, firstFor, following, type Heard, isEnough } from './listen.rules.ts'
import type { Listener, ListenSessions } from './sessions.store.ts'
import { endlessHead, pcmOf, sameFormat } from './wav.rules.ts'

/** The longest a stream waits at its beginning for enough audio. */
const HOLD_MS = 1000
/** Without a chunk for this long the stream ends; the listener may start again. */
const SILENT_MS = 15_000

export interface LiveParts {
  chunks: Chunks
  layouts: LayoutStore
  principals: Pick<Principals, 'reload'>
  sessions: ListenSessions
}

/**
 * Whether the caller may hear the node now: login, permission, every channel in scope (docs/contract/access.md:
 * Visible sets).
 */
export function mayHear({ layouts, principals }: LiveParts, principal: UserPrincipal, nodeId: string): boolean {
  const person = principals.reload(principal)
  const layout = layouts.of(nodeId)
  return (
    person !== undefined && layout !== undefined && canHear(channelVisibility(person, 'listen:monitor', layout), layout)
  )
}

/**
 * The live audio of a node as one endless WAV: each chunk once and in order; gaps are left out. A slow client misses what is
 * no longer kept. Ends with the session, the caller's rights or the node, and when the audio format changes, because a WAV
 * has one header.
 */
export function liveAudio(air: LiveParts, listener: Listener, principal: UserPrincipal, clock: Clock): Source {
  const { chunks, sessions } = air
  let heard: Heard | undefined
  let format: Buffer | undefined
  const begunAt = clock.monotonic()
  let over = false
  let held = true

  const next = (now: string): Chunk | undefined => {
    const kept = chunks.kept(listener.nodeId)
    if (heard) return following(kept, listener.enhance, heard, now)
    const first = firstFor(kept, listener.enhance, now)
    return first && (!held || isEnough(kept, first)) ? first : undefined
  }
  const samples = ({ audio }: Chunk): Uint8Array | undefined => {
    const pcm = pcmOf(audio)
    if (!pcm || pcm.data.length === 0) return undefined
    if (!format) {
      format = pcm.format
      return Buffer.concat([endlessHead(format), pcm.data])
    }
    over = !sameFormat(format, pcm.format)
    return over ? undefined : pcm.data
  }
  /** Time since the last chunk, ms. */
  const silence = (): number => {
    const { enhanced, raw } = chunks.kept(listener.nodeId)
    const last = [enhanced.at(-1)?.receivedAt ?? '', raw.at(-1)?.receivedAt ?? ''].sort().at(-1) || undefined
    const begun = clock.monotonic() - begunAt
    return last === undefined ? begun : Math.min(begun, clock.now() - Date.parse(last))
  }
  return {
    begin(wake) {
      const timer = setTimeout(() => {
        held = false
        wake()
      }, HOLD_MS)
      const unsubscribe = chunks.subscribe(listener.nodeId, wake)
      return () => {
        clearTimeout(timer)
        unsubscribe()
      }
    },
    mayGoOn() {
      return (
        silence() <= SILENT_MS &&
        mayHear(air, principal, listener.nodeId) &&
        sessions.touch(listener.id, iso(clock.now()))
      )
    },
    take() {
      for (;;) {
        const now = iso(clock.now())
        if (over || !sessions.find(listener.nodeId, listener.id, now)) return 'end'
        const chunk = next(now)
        if (!chunk) return undefined
        const { audio: _, ...facts } = chunk
        heard = facts
        const bytes = samples(chunk)
        if (bytes) sessions.touch(listener.id, now)
        if (bytes) return bytes
      }
    },
  }
}
