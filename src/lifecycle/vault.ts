// Temporary directories of runs. Private keys exist only there, and only during the run.
import * as fs from 'node:fs'
import * as path from 'node:path'

const NAME = 'roomtone-lifecycle'
const OURS = new RegExp(`^${NAME}-(\\d+)-(\\d+)-[A-Za-z0-9]{6}$`)

/** A directory for each run, 0700, named after this process; what a dead one left is removed at the start. */
export class Vault {
  readonly #bases: readonly string[]
  readonly #lent = new Set<string>()
  readonly #remove = (): void => {
    for (const dir of this.#lent) fs.rmSync(dir, { recursive: true, force: true })
  }

  /** @throws Error when none of the places can be written to. */
  constructor(bases: readonly string[]) {
    this.#bases = bases
    for (const base of bases) sweep(base)
    fs.rmdirSync(directoryIn(bases))
    // A program that exits during a run removes the key; after kill -9 the next start does.
    process.on('exit', this.#remove)
  }

  /** Gives `work` a directory with these files, each 0600; nothing of it is left afterwards, however that ended. */
  async lend<T>(files: Record<string, string>, work: (dir: string) => Promise<T>): Promise<T> {
    const dir = directoryIn(this.#bases)
    this.#lent.add(dir)
    try {
      for (const [name, text] of Object.entries(files))
        fs.writeFileSync(path.join(dir, name), text, { flag: 'wx', mode: 0o600 })
      return await work(dir)
    } finally {
      fs.rmSync(dir, { recursive: true, force: true })
      this.#lent.delete(dir)
    }
  }

  close(): void {
    process.off('exit', this.#remove)
    this.#remove()
  }
}

/** A fresh one in the first place that can be written to. */
function directoryIn(bases: readonly string[]): string {
  const { pid } = process
  for (const base of bases) {
    try {
      return fs.mkdtempSync(path.join(base, `${NAME}-${pid}-${startOf(pid) ?? 0}-`))
    } catch {
      // Absent, or not ours to write to: the next one.
    }
  }
  throw new Error(`No directory for the keys of runs: none of ${bases.join(', ')} can be written to.`)
}

/** Removes directories of processes that have ended. */
function sweep(base: string): void {
  for (const name of fs.existsSync(base) ? fs.readdirSync(base) : []) {
    const [, pid, start] = OURS.exec(name) ?? []
    if (pid === undefined || startOf(Number(pid)) === start) continue
    const dir = path.join(base, name)
    const found = fs.lstatSync(dir, { throwIfNoEntry: false })
    if (found?.isDirectory() && found.uid === process.getuid?.()) fs.rmSync(dir, { recursive: true, force: true })
  }
}

/** When a process began, in ticks since the machine did: a number that comes again is another process. */
function startOf(pid: number): string | undefined {
  try {
    return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19]
  } catch {
    // No such process.
    return undefined
  }
}
