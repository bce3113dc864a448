// Checks of the box itself, whatever it is: disk, clock, service, programs.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import * as os from 'node:os'
import * as path from 'node:path'
import { systemClock } from '../../kernel/clock.ts'
import { diskRoom } from '../../kernel/disk.ts'
import { hasCode } from '../../kernel/durable.ts'
import { faultWords } from '../../kernel/words.ts'
import { advice, command, type Finding, type Fix } from '../../wire/doctor.ts'
import { shellWord } from '../../wire/install.ts'
import { NotStarted, type RunResult, run } from '../host/run.ts'
import { isClockSynced } from '../host/timesync.ts'
import { type Free, judgeClock, judgeSpace, judgeSync, judgeUnit, type UnitFacts } from './box.rules.ts'
import { fail, ok, type Probe, skipped } from './examine.ts'

const WRITES = 5
const SYNC_MS = 8000
const BYTES = 4096

/** The nearest directory that is there: what is made at the first start may be missing. */
async function standing(dir: string): Promise<string> {
  for (let at = dir; ; at = path.dirname(at)) {
    const found = await fs.stat(at).catch((e) => {
      if (hasCode(e, 'ENOENT')) return undefined
      throw e
    })
    if (found || at === path.dirname(at)) return at
  }
}

async function freeAt(dir: string): Promise<Free[]> {
  const room = await diskRoom(await standing(dir))
  return room ? [{ dir, ...room }] : []
}

/** `fix`: how room is made there. */
export const spaceOf = async (dirs: readonly string[], fix: Fix): Promise<Finding> =>
  judgeSpace((await Promise.all([...new Set(dirs)].map(freeAt))).flat(), fix)

export interface Written {
  /** Whose the directory has to be. */
  owner: string
  /** How room is made there. */
  room: Fix
}

/** How long a small write takes until it is on the disk. Leaves nothing behind. */
export const syncOf = (dir: string, written: Written): Probe => ({
  limitMs: SYNC_MS,
  async look(signal) {
    const late = new Promise<Finding>((resolve) =>
      signal.addEventListener('abort', () => resolve(judgeSync([SYNC_MS], dir)), { once: true }),
    )
    return await Promise.race([timed(dir).catch((e) => unwritable(e, dir, written)), late])
  },
})

async function timed(dir: string): Promise<Finding> {
  const file = path.join(await standing(dir), `.doctor-${randomBytes(6).toString('hex')}`)
  const handle = await fs.open(file, 'wx', 0o600)
  try {
    const ms: number[] = []
    for (let n = 0; n < WRITES; n++) {
      const began = systemClock.monotonic()
      await handle.write(Buffer.alloc(BYTES), 0, BYTES, n * BYTES)
      await handle.sync()
      ms.push(systemClock.monotonic() - began)
    }
    return judgeSync(ms, dir)
  } finally {
    await handle.close()
    await fs.rm(file, { force: true })
  }
}

/** What to do where a directory cannot be written to. */
export function unwritable(e: unknown, dir: string, { owner, room }: Written): Finding {
  const { code = '' } = e as NodeJS.ErrnoException
  // Whoever is not the service learns nothing about what the service may do.
  if (code === 'EACCES' && os.userInfo().username !== owner)
    return skipped(`${faultWords(e, dir)}. Run it as root: sudo roomtone doctor`)
  const place = shellWord(dir)
  const fixes: Record<string, Fix> = {
    EACCES: command(`sudo chown -R ${owner}: ${place}`),
    EDQUOT: room,
    ENOSPC: room,
    EPERM: command(`sudo chattr -i ${place}; sudo chown -R ${owner}: ${place}`),
    EROFS: remounted(dir),
  }
  const fix = fixes[code] ?? advice('Replace the disk if it reports errors:', 'sudo dmesg -l err,warn | tail -n 20')
  return fail(`Nothing can be written to ${dir}: ${faultWords(e, dir)}`, fix)
}

/** How a disk that became read-only is written to again. */
export const remounted = (dir: string): Fix =>
  advice(
    'The log of the kernel (dmesg) says why the disk became read-only. When that is mended:',
    `sudo mount -o remount,rw "$(findmnt -no TARGET -T ${shellWord(dir)})"`,
  )

/** What a program of the system says; undefined where there is none, or nobody it could ask. */
async function asked(command: string, args: readonly string[], signal: AbortSignal): Promise<RunResult | undefined> {
  try {
    const said = await run(command, args, { signal, timeoutMs: 5000 })
    return said.code === 0 ? said : undefined
  } catch (e) {
    if (e instanceof NotStarted) return undefined
    throw e
  }
}

/** `ahead`: how far this clock is ahead of the controller's, seconds, where that can be told. */
export const clockOf =
  (ahead: () => Promise<number | undefined> = async () => undefined) =>
  async (signal: AbortSignal): Promise<Finding> => {
    const [apart, synced] = await Promise.all([ahead(), isClockSynced({ signal })])
    return judgeClock({ ahead: apart, synced })
  }

const FACTS = ['ActiveState', 'LoadState', 'NRestarts', 'Result', 'SubState', 'UnitFileState']

export const unitOf =
  (unit: string) =>
  async (signal: AbortSignal): Promise<Finding> => {
    const said = await asked('systemctl', ['show', unit, ...FACTS.flatMap((name) => ['-p', name])], signal)
    if (!said) return skipped('systemd does not run here')
    const facts = Object.fromEntries(said.stdout.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)))
    return judgeUnit(unit, facts as Partial<UnitFacts>)
  }

/** A program that has to be there and to start. `args` make it print its version, which is shown. */
export async function programOf(
  command: string,
  args: readonly string[],
  { env, fix, signal }: { env: NodeJS.ProcessEnv; fix: Fix; signal: AbortSignal },
): Promise<Finding> {
  const said = await run(command, args, { env, signal, timeoutMs: 5000 }).catch((e) => {
    if (e instanceof NotStarted) return undefined
    throw e
  })
  if (!said) return fail(`${command} is not installed`, fix)
  const [line = ''] = `${said.stdout}${said.stderr}`.trim().split('\n')
  if (said.code !== 0) return fail(`${command} is installed, but does not start: ${line.slice(0, 200)}`, fix)
  return ok(line.replace(/ Copyright .*$/, '').slice(0, 120) || `${command} is installed`)
}
