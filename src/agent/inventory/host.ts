import * as fsp from 'node:fs/promises'
import * as os from 'node:os'
import * as path from 'node:path'
import type { Clock } from '../../kernel/clock.ts'
import { isClockSynced } from '../../system/host/timesync.ts'
import type { Runtime } from '../../wire/runtime.ts'
import { fit } from './alsa.ts'

type Backend = Runtime['audioBackends'][number]

const ARCHITECTURES: Record<string, string> = { arm64: 'aarch64', x64: 'x86_64' }

export const hostname = (): string => fit(os.hostname(), 255) || 'unknown-host'

/** Addresses others can reach: no loopback, no link-local ones. */
export const ipAddresses = (): string[] =>
  Object.values(os.networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter((a) => !a.internal && !/^fe[89ab]/i.test(a.address))
    .map((a) => a.address)
    .slice(0, 16)

async function osName(): Promise<string> {
  const release = await fsp.readFile('/etc/os-release', 'utf8').catch(() => '')
  const pretty = /^PRETTY_NAME=(.*)$/m.exec(release)?.[1]?.replace(/^(["'])(.*)\1$/, '$2')
  return fit(pretty ?? '', 255) || os.type()
}

async function onPath(programs: string[], searchPath: string): Promise<boolean> {
  const candidates = searchPath
    .split(':')
    .filter((dir) => dir !== '')
    .flatMap((dir) => programs.map((program) => path.join(dir, program)))
  for (const candidate of candidates) {
    const there = await fsp.access(candidate, fsp.constants.X_OK).then(
      () => true,
      () => false,
    )
    if (there) return true
  }
  return false
}

/** Backends of the interfaces, and the sound servers that are installed; `unknown` only when there is nothing else. */
async function audioBackends(found: Backend[], searchPath: string): Promise<Backend[]> {
  const servers: Backend[] = []
  if (await onPath(['pw-cli', 'pipewire'], searchPath)) servers.push('pipewire')
  if (await onPath(['jackd', 'jack_control'], searchPath)) servers.push('jack')
  const all = [...new Set([...found, ...servers])].sort()
  const real = all.filter((backend) => backend !== 'unknown')
  return real.length > 0 ? real : all
}

/** The answer hardly changes, and asking starts a service. */
const SYNC_KEPT_MS = 300_000

/** A heartbeat does without it, whatever went wrong. */
const unknown = (): undefined => undefined

/** Whether the clock follows a time server, as systemd tells it; undefined on a machine without systemd. */
export function clockSync(env: NodeJS.ProcessEnv, clock: Pick<Clock, 'monotonic'>): () => Promise<boolean | undefined> {
  let known: { at: number; synced: boolean | undefined } | undefined
  return async () => {
    const at = clock.monotonic()
    if (!known || at - known.at >= SYNC_KEPT_MS) known = { at, synced: await isClockSynced({ env }).catch(unknown) }
    return known.synced
  }
}

/** Without the settings the agent brings itself. */
export async function runtime(backends: Backend[], searchPath: string): Promise<Omit<Runtime, 'denoiser' | 'encoder'>> {
  return {
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    audioBackends: await audioBackends(backends, searchPath),
    kernelRelease: fit(os.release(), 255),
    osName: await osName(),
    uptimeSeconds: Math.floor(os.uptime()),
  }
}
