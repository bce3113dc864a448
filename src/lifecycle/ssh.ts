// One session with a node by the system's OpenSSH: a line in, text out, an exit code. No secret is an argument.
import { NotStarted, run } from '../system/host/run.ts'
import type { Stream } from '../wire/lifecycle.ts'
import { commandFor, type Target } from './target.rules.ts'

/** How the files of a run are called; ssh runs in their directory, so that no path is among its arguments. */
export const FILES = { key: 'key', knownHosts: 'known_hosts', operatorKey: 'operator_key' } as const
/** Of a key the node may still hold, from 0. */
export const previousFile = (at: number): string => `previous_key_${at}`
/** By what name the host keys of the controller are written down: addresses move, the node's keys stay. */
export const HOST_ALIAS = 'roomtone-node'
/** What ssh itself ends with when there was no session, or it broke. */
export const NO_SESSION = 255

// Nothing of the user's or the machine's settings, no agent, no forwarding, no questions, no host that is not known.
const OPTIONS = {
  BatchMode: 'yes',
  ClearAllForwardings: 'yes',
  ConnectTimeout: '20',
  ControlPath: 'none',
  GlobalKnownHostsFile: 'none',
  IdentitiesOnly: 'yes',
  IdentityAgent: 'none',
  LogLevel: 'ERROR',
  PreferredAuthentications: 'publickey',
  ServerAliveCountMax: '4',
  ServerAliveInterval: '15',
  StrictHostKeyChecking: 'yes',
  UpdateHostKeys: 'no',
  UserKnownHostsFile: FILES.knownHosts,
}
/** However much a node has to say, it ends. */
const LONGEST_MS = 60 * 60_000

interface Session {
  /** Holds the files of FILES, and those of `keys`. */
  dir: string
  env: NodeJS.ProcessEnv
  /** The host keys in `known_hosts` stand under HOST_ALIAS. */
  pinned: boolean
  /** Files of keys, in the order in which they are tried. */
  keys: readonly string[]
  signal: AbortSignal
  silenceMs: number
  target: Target
  tell: (piece: string, stream: Stream) => void
}

export function sshArgs({ keys, pinned, target }: Pick<Session, 'keys' | 'pinned' | 'target'>): string[] {
  const { host, port, user } = target
  const options = { ...OPTIONS, ...(pinned ? { HostKeyAlias: HOST_ALIAS } : {}) }
  return [
    ...['-F', 'none', '-T', '-a', '-x'],
    ...keys.flatMap((file) => ['-i', file]),
    ...Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    ...['-l', user],
    ...(port === undefined ? [] : ['-p', String(port)]),
    ...['--', host, commandFor(user)],
  ]
}

/**
 * Writes the line, tells what comes back, resolves to the exit code: NO_SESSION when there was none, with the reason told on
 * stderr. Rejects with the signal's reason when given up; in every case no ssh is left.
 */
export async function converse(session: Session, line: string): Promise<number> {
  const { dir, env, signal, silenceMs, tell } = session
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), silenceMs)
  const say = (words: string) => tell(`${words}\n`, 'stderr')
  let heard = ''
  try {
    const ended = await run('ssh', sshArgs(session), {
      cwd: dir,
      env,
      input: line,
      maxOutput: 0,
      onOutput: (piece, stream) => {
        timer.refresh()
        if (stream === 'stderr') heard = (heard + piece).slice(-4096)
        tell(piece, stream)
      },
      signal: AbortSignal.any([signal, silence.signal]),
      timeoutMs: LONGEST_MS,
    })
    if (ended.timedOut) say(`The run was ended after ${LONGEST_MS / 60_000} minutes.`)
    const code = ended.code ?? NO_SESSION
    if (code === NO_SESSION && heard.includes('Host key verification failed')) say(STRANGER)
    return code
  } catch (e) {
    if (signal.aborted || !(silence.signal.aborted || e instanceof NotStarted)) throw e
    say(e instanceof NotStarted ? `${e.message} (package openssh-client, on the runner).` : quiet(silenceMs))
    return NO_SESSION
  } finally {
    clearTimeout(timer)
  }
}

const quiet = (ms: number): string =>
  `The node sent nothing for ${ms / 1000} s: the run was ended (SVC_ANSIBLE_TIMEOUT_SECONDS).`
const STRANGER =
  'The machine that answered is not the one that was pinned: its host key is unknown or changed. ' +
  'If the node was set up anew, bootstrap it again; if not, find out who answers there.'
