import { mkdirSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { hasCode, sizeOf, syncDir } from '../../kernel/durable.ts'
import { isDiskFull, replaceFile } from './durable.ts'
import { TakeState } from './state.ts'

const STATE = 'state.json'
const TAKE = 'take.wav'
/** Given back when the disk is full, so that the state of a take can still be written. */
const BALLAST = 'ballast'
const BALLAST_BYTES = 64 * 1024

export interface Found {
  /** Directories that hold something this program cannot read; moved to `kept/`. */
  kept: string[]
  states: TakeState[]
}

/** The agent's takes on disk: `takes/<jobId>/` while owned, `kept/<jobId>/` when they must be looked after by hand. */
export interface Spool {
  /** Durable when it resolves. False when the job is already there. */
  create(state: TakeState): Promise<boolean>
  dir(jobId: string): string
  /** Moves a job's files out of the way, never deleting any; resolves with their new place. */
  keep(jobId: string): Promise<string>
  /** Gives a member of a group its own name for the take of another; the audio is on disk once. */
  share(fromJobId: string, toJobId: string): Promise<void>
  load(): Promise<Found>
  remove(jobId: string): Promise<void>
  /** Durable when it resolves. */
  save(state: TakeState): Promise<void>
  takeFile(jobId: string): string
}

const safeName = (jobId: string): string => jobId.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 200)

/** Makes the directories; throws what the disk throws. */
export function openSpool(workDir: string): Spool {
  const takes = path.join(workDir, 'takes')
  const kept = path.join(workDir, 'kept')
  for (const dir of [takes, kept]) mkdirSync(dir, { mode: 0o750, recursive: true })
  const dirOf = (jobId: string) => path.join(takes, safeName(jobId))

  const create = async (state: TakeState) => {
    const dir = dirOf(state.job.id)
    if ((await sizeOf(path.join(dir, STATE))) !== undefined) return false
    await fs.mkdir(dir, { mode: 0o750, recursive: true })
    await fs.writeFile(path.join(dir, BALLAST), Buffer.alloc(BALLAST_BYTES, 1))
    await replaceFile(path.join(dir, STATE), JSON.stringify(state))
    await syncDir(takes)
    return true
  }

  const save = async (state: TakeState) => {
    const dir = dirOf(state.job.id)
    const write = () => replaceFile(path.join(dir, STATE), JSON.stringify(state))
    try {
      await write()
    } catch (e) {
      if (!isDiskFull(e)) throw e
      await fs.rm(path.join(dir, BALLAST), { force: true })
      await write()
    }
  }

  const keepDir = async (name: string): Promise<string> => {
    let target = path.join(kept, name)
    for (let n = 2; (await sizeOf(target)) !== undefined; n++) target = path.join(kept, `${name}.${n}`)
    await fs.rename(path.join(takes, name), target)
    await syncDir(kept)
    await syncDir(takes)
    return target
  }

  const remove = async (jobId: string) => {
    const dir = dirOf(jobId)
    // The state goes last: files without a state would be found and kept as a riddle.
    if ((await sizeOf(dir)) === undefined) return
    for (const name of await fs.readdir(dir)) if (name !== STATE) await fs.rm(path.join(dir, name))
    await fs.rm(dir, { recursive: true })
    await syncDir(takes)
  }

  const share = async (fromJobId: string, toJobId: string) => {
    const [from, to] = [path.join(dirOf(fromJobId), TAKE), path.join(dirOf(toJobId), TAKE)]
    await fs.link(from, to)
    await syncDir(dirOf(toJobId))
  }

  const load = async (): Promise<Found> => {
    const found: Found = { kept: [], states: [] }
    for (const name of (await fs.readdir(takes)).sort()) {
      const state = await readState(path.join(takes, name))
      if (state === 'nothing') await fs.rm(path.join(takes, name), { recursive: true })
      else if (state === 'unreadable' || safeName(state.job.id) !== name) found.kept.push(await keepDir(name))
      else found.states.push(state)
    }
    return found
  }

  return {
    create,
    dir: dirOf,
    keep: (jobId) => keepDir(safeName(jobId)),
    load,
    remove,
    save,
    share,
    takeFile: (jobId) => path.join(dirOf(jobId), TAKE),
  }
}

/** `nothing`: a directory made just before a crash, without state and without audio. */
async function readState(dir: string): Promise<TakeState | 'nothing' | 'unreadable'> {
  try {
    const parsed = TakeState.safeParse(JSON.parse(await fs.readFile(path.join(dir, STATE), 'utf8')))
    return parsed.success ? parsed.data : 'unreadable'
  } catch (e) {
    if (!hasCode(e, 'ENOENT')) return 'unreadable'
    const left = await fs.readdir(dir)
    return left.every((name) => [BALLAST, `${STATE}.tmp`].includes(name)) ? 'nothing' : 'unreadable'
  }
}
