// What a run changes on the box, written to disk before the change: after a power cut the run can be continued or undone.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { replaceFile } from '../host/files.ts'

/** A small file or a link as it was. */
type Kept =
  | { content: string; gid: number; kind: 'file'; mode: number; uid: number }
  | { kind: 'link'; target: string }
  | { kind: 'nothing' }

/** The state before a change; enough to restore it. */
export type Change =
  /** Created or replaced; where nothing was, undo removes it with all its contents. */
  | { kind: 'path'; path: string; was: Kept }
  | { kind: 'user'; name: string }
  | { kind: 'group'; name: string }
  /** A service as it was; `restart`: it ran, and has to be restarted once its files are restored. */
  | { active: boolean; enabled: boolean; kind: 'unit'; restart: boolean; unit: string }
  /** Every package that was installed; undo removes those added since. */
  | { before: string[]; kind: 'packages' }

interface Content {
  changes: Change[]
  /** The run is being undone: it can no longer be continued. */
  undoing: boolean
}

export const stands = (file: string): boolean => fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined

/** Replaces a link atomically. */
export function link(target: string, file: string): void {
  fs.rmSync(`${file}.new`, { force: true })
  fs.symlinkSync(target, `${file}.new`)
  fs.renameSync(`${file}.new`, file)
}

/** One per box. Its directory exists only while a setup runs, or after one was interrupted. */
export class Journal {
  readonly #dir: string
  #content: Content

  /** Reads what an interrupted run left. */
  constructor(dir: string) {
    this.#dir = dir
    const file = path.join(dir, 'journal')
    this.#content = stands(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : { changes: [], undoing: false }
  }

  /** Oldest first. */
  get changes(): readonly Change[] {
    return this.#content.changes
  }

  get undoing(): boolean {
    return this.#content.undoing
  }

  /** Durable when it returns: the change may begin. The first record of a thing is kept, for it has the original state. */
  record(change: Change): void {
    const known = this.changes.some((other) => identity(other) === identity(change))
    if (!known) this.#save({ ...this.#content, changes: [...this.changes, change] })
  }

  /** Call it before a file or link is created, replaced or removed. */
  keep(file: string): void {
    this.record({ kind: 'path', path: file, was: kept(file) })
  }

  /** Call it before a directory is created, together with missing parents. */
  keepDirectory(dir: string): void {
    if (stands(dir)) return
    let top = dir
    while (!stands(path.dirname(top))) top = path.dirname(top)
    this.keep(top)
  }

  /** Undo will leave these files as they are now. */
  settle(...files: string[]): void {
    const changes = this.changes.filter((change) => change.kind !== 'path' || !files.includes(change.path))
    if (changes.length < this.changes.length) this.#save({ ...this.#content, changes })
  }

  /** Path for a file needed only while the setup runs. Something must have been recorded before. */
  draft(name: string): string {
    return path.join(this.#dir, `${name}.draft`)
  }

  beginUndo(): void {
    if (this.changes.length > 0) this.#save({ ...this.#content, undoing: true })
  }

  /** The run is over: nothing is left to undo. */
  close(): void {
    fs.rmSync(this.#dir, { force: true, recursive: true })
    this.#content = { changes: [], undoing: false }
  }

  #save(content: Content): void {
    fs.mkdirSync(this.#dir, { mode: 0o700, recursive: true })
    replaceFile(path.join(this.#dir, 'journal'), JSON.stringify(content), 0o600)
    this.#content = content
  }
}

function identity(change: Change): string {
  if (change.kind === 'path') return change.path
  if (change.kind === 'packages') return 'packages'
  return `${change.kind} ${change.kind === 'unit' ? change.unit : change.name}`
}

function kept(file: string): Kept {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (!stat) return { kind: 'nothing' }
  if (stat.isSymbolicLink()) return { kind: 'link', target: fs.readlinkSync(file) }
  const { gid, mode, uid } = stat
  return { content: fs.readFileSync(file, 'base64'), gid, kind: 'file', mode: mode & 0o7777, uid }
}

/** One thing a box needs. A second run finds all steps done. */
export interface Step {
  /** As in "<name>: done". */
  name: string
  /** Records each change in the journal before making it. */
  apply(journal: Journal): Promise<void> | void
  done(): Promise<boolean> | boolean
}
