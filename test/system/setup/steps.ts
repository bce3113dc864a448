// What a setup is tried with: files and a link below a directory that stands for the box.
import * as fs from 'node:fs'
import * as path from 'node:path'
import type { SetupPlaces } from '../../../src/system/setup/engine.ts'
import type { Step } from '../../../src/system/setup/journal.ts'
import { link } from '../../../src/system/setup/journal.ts'

/** The lock stays, as its file does in /run: beside what is compared. */
export const benchIn = (dir: string): SetupPlaces => ({ journal: path.join(dir, 'journal'), lock: `${dir}.lock` })

/** Writes a file below `dir`. */
export const writingIn = (dir: string, name: string, content: string): Step => ({
  name,
  done: () => fs.existsSync(path.join(dir, name)) && fs.readFileSync(path.join(dir, name), 'utf8') === content,
  apply(journal) {
    journal.keepDirectory(path.dirname(path.join(dir, name)))
    journal.keep(path.join(dir, name))
    fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true })
    fs.writeFileSync(path.join(dir, name), content)
  },
})
const linkingIn = (dir: string, name: string, target: string): Step => ({
  name,
  done: () => fs.existsSync(path.join(dir, name)) && fs.readlinkSync(path.join(dir, name)) === target,
  apply(journal) {
    journal.keep(path.join(dir, name))
    link(target, path.join(dir, name))
  },
})

export const stepsIn = (dir: string): Step[] => [
  writingIn(dir, 'new/deep/file', 'x'),
  writingIn(dir, 'settings', 'ours'),
  linkingIn(dir, 'program', 'new'),
  writingIn(dir, 'new/second', 'y'),
]
