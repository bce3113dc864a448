// What a run changes on the box, on disk before it is changed: whoever comes after a power cut can go on, or take it back.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { replaceFile } from '../host/files.ts'

/** A small file or a link as it was. */
type Kept =
  | { content: string; gid: number; kind: 'file'; mode: number; uid: number }
  | { kind: 'link'; target: string }
  | { kind: 'nothing' }

/** What there was before a change; enough to bring it back without knowing who changed it, or why. */
export type Change =
  /** Made or replaced; where nothing was, whatever stands there goes again, with all that is in it. */
  | { kind: 'path'; path: string; was: Kept }
  | { kind: 'user'; name: string }
  | { kind: 'group'; name: string }
  /** A service as it was; `restart`: it ran, and has to be started anew once its files are back. */
  | { active: boolean; enabled: boolean; kind: 'unit'; restart: boolean; unit: string }
  /** Every package that was there; those that came since go again. */
  | { before: string[]; kind: 'packages' }

interface Content {
  changes: Change[]
  /** The run was over and took its changes back: from there on there is only one way. */
  undoing: boolean
}

export const stands = (file: string): boolean => fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined

/** Replaces a link in one step: whoever follows it finds the old or the new. */
export function link(target: string, file: string): void {
  fs.rmSync(`${file}.new`, { force: true })
  fs.symlinkSync(target, `${file}.new`)
  fs.renameSync(`${file}.new`, file)
}

/** One per box. Its directory exists only while a setup is under way, or was cut off. */
export class Journal {
  readonly #dir: string
  #content: Content

  /** Reads what an earlier run left, if it was cut off. */
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

  /** Durable when it returns: the change may begin. The first word about a thing counts, it knows how it was. */
  record(change: Change): void {
    const known = this.changes.some((other) => identity(other) === identity(change))
    if (!known) this.#save({ ...this.#content, changes: [...this.changes, change] })
  }

  /** Before a file or link is made, replaced or removed. */
  keep(file: string): void {
    this.record({ kind: 'path', path: file, was: kept(file) })
  }

  /** Before a directory is made, with what is missing above it; one that exists needs no word. */
  keepDirectory(dir: string): void {
    if (stands(dir)) return
    let top = dir
    while (!stands(path.dirname(top))) top = path.dirname(top)
    this.keep(top)
  }

  /** These files stay as they are now, whatever becomes of the rest. */
  settle(...files: string[]): void {
    const changes = this.changes.filter((change) => change.kind !== 'path' || !files.includes(change.path))
    if (changes.length < this.changes.length) this.#save({ ...this.#content, changes })
  }

  /** Path for a file that is only needed while the setup runs; something was recorded before. */
  draft(name: string): string {
    return path.join(this.#dir, `${name}.draft`)
  }

  beginUndo(): void {
    if (this.changes.length > 0) this.#save({ ...this.#content, undoing: true })
  }

  /** The run is over, one way or the other: there is nothing to take back any more. */
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

/** One thing a box needs. Steps are looked at in order, and the second run finds all of them done. */
export interface Step {
  /** As in "<name>: done". */
  name: string
  /** Tells the journal before it changes anything. */
  apply(journal: Journal): Promise<void> | void
  done(): Promise<boolean> | boolean
}
