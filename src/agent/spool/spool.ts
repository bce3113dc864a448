import { mkdirSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { hasCode, isDiskFull, removeGently, replaceFile, sizeOf, syncDir } from '../../kernel/durable.ts'
import { type Mirrored, mirrorState } from './mirror.ts'
import { TakeState } from './state.ts'

const STATE = 'state.json'
const TAKE = 'take.wav'
/** Deleted when the disk is full, so that the state of a take can still be written. */
const BALLAST = 'ballast'
const BALLAST_BYTES = 64 * 1024

interface Found {
  /** Directories with content this program cannot read; moved to `kept/`. */
  kept: string[]
  /** Directories the disk neither reads nor moves, by their names: they stay where they are. */
  stuck: { error: unknown; name: string; path: string }[]
  states: TakeState[]
}

/**
 * The agent's takes on disk: `takes/<jobId>/` while owned, `cache/<jobId>/` when the controller has them,
 * `kept/<jobId>/` when an operator has to look at them.
 */
export interface Spool {
  /** Moves the files of an accepted take to the recorder's copies; resolves with their new place. */
  cache(jobId: string): Promise<string>
  /** Directories of the recorder's copies; without a state when it cannot be read. */
  cached(): Promise<{ dir: string; state: TakeState | undefined }[]>
  /** Durable when it resolves. False when the job is already there. */
  create(state: TakeState): Promise<boolean>
  dir(jobId: string): string
  /** Moves a job's files aside without deleting any; resolves with their new place. */
  keep(jobId: string): Promise<string>
  /** Hard-links a group member to the take of another, so that the audio is on disk once. */
  /** Moves a copy back to the takes that are owned; resolves with its state, undefined when it cannot be read. */
  takeBack(dir: string, jobId: string): Promise<TakeState | undefined>
  share(fromJobId: string, toJobId: string): Promise<void>
  load(): Promise<Found>
  /** Writes the state of a take to the file that shows the latest one. Never rejects. */
  mirror(state: Mirrored): Promise<void>
  remove(jobId: string): Promise<void>
  /** Durable when it resolves. */
  save(state: TakeState): Promise<void>
  takeFile(jobId: string): string
}

const safeName = (jobId: string): string => jobId.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 200)

/** Creates the directories; throws what the disk throws. `stateFile`: gets the latest state of any job. */
export function openSpool(workDir: string, stateFile?: string): Spool {
  const takes = path.join(workDir, 'takes')
  const kept = path.join(workDir, 'kept')
  const copies = path.join(workDir, 'cache')
  for (const dir of [takes, kept, copies]) mkdirSync(dir, { mode: 0o750, recursive: true })
  const dirOf = (jobId: string) => path.join(takes, safeName(jobId))

  const mirror = async (state: Mirrored) => {
    if (stateFile !== undefined) await mirrorState(stateFile, state, dirOf(state.job.id))
  }

  const create = async (state: TakeState) => {
    const dir = dirOf(state.job.id)
    if ((await sizeOf(path.join(dir, STATE))) !== undefined) return false
    await fs.mkdir(dir, { mode: 0o750, recursive: true })
    await fs.writeFile(path.join(dir, BALLAST), Buffer.alloc(BALLAST_BYTES, 1))
    await replaceFile(path.join(dir, STATE), JSON.stringify(state))
    await syncDir(takes)
    await mirror(state)
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
    await mirror(state)
  }

  const move = async (name: string, to: string): Promise<string> => {
    let target = path.join(to, name)
    for (let n = 2; (await sizeOf(target)) !== undefined; n++) target = path.join(to, `${name}.${n}`)
    await fs.rename(path.join(takes, name), target)
    await syncDir(to)
    await syncDir(takes)
    return target
  }

  const cache = async (jobId: string) => {
    await fs.rm(path.join(dirOf(jobId), BALLAST), { force: true })
    return move(safeName(jobId), copies)
  }

  const cached = async () => {
    const dirs = (await fs.readdir(copies)).sort().map((name) => path.join(copies, name))
    return Promise.all(
      dirs.map(async (dir) => {
        const state = await readState(dir)
        return { dir, state: typeof state === 'string' ? undefined : state }
      }),
    )
  }

  const takeBack = async (dir: string, jobId: string) => {
    const state = await readState(dir)
    if (typeof state === 'string' || (await sizeOf(dirOf(jobId))) !== undefined) return undefined
    await fs.rename(dir, dirOf(jobId))
    await syncDir(takes)
    await syncDir(copies)
    return state
  }

  const remove = async (jobId: string) => {
    if ((await sizeOf(dirOf(jobId))) === undefined) return
    await removeFiles(dirOf(jobId))
    await syncDir(takes)
  }

  const share = async (fromJobId: string, toJobId: string) => {
    const [from, to] = [path.join(dirOf(fromJobId), TAKE), path.join(dirOf(toJobId), TAKE)]
    await fs.link(from, to)
    await syncDir(dirOf(toJobId))
  }

  const load = async (): Promise<Found> => {
    const found: Found = { kept: [], states: [], stuck: [] }
    const examine = async (name: string) => {
      const state = await readState(path.join(takes, name))
      if (state === 'nothing') await fs.rm(path.join(takes, name), { recursive: true })
      else if (state === 'unreadable' || safeName(state.job.id) !== name) found.kept.push(await move(name, kept))
      else found.states.push(state)
    }
    for (const name of (await fs.readdir(takes)).sort())
      await examine(name).catch((error) => found.stuck.push({ error, name, path: path.join(takes, name) }))
    return found
  }

  return {
    cache,
    cached,
    create,
    dir: dirOf,
    keep: (jobId) => move(safeName(jobId), kept),
    load,
    mirror,
    remove,
    save,
    share,
    takeBack,
    takeFile: (jobId) => path.join(dirOf(jobId), TAKE),
  }
}

/** Removes the directory of a take, its state last: files without a state would be kept for an operator. */
export async function removeFiles(dir: string): Promise<void> {
  for (const name of await fs.readdir(dir)) {
    const file = path.join(dir, name)
    if (name === STATE) continue
    const stat = await fs.lstat(file)
    // Piece by piece, so that running takes can sync; never a file that another job is linked to.
    if (stat.isFile() && stat.nlink === 1) await removeGently(file)
    else await fs.rm(file, { recursive: true })
  }
  await fs.rm(dir, { recursive: true })
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
