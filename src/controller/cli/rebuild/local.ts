// Takes and manifests on this disk. Nothing they say leads out of the takes directory: a file is where it was found.

import * as fs from 'node:fs'
import * as path from 'node:path'
import { checksumOfFile } from '../../../kernel/checksum.ts'
import {
  besideManifest,
  type ChunkFile,
  MAX_MANIFEST_BYTES,
  manifestPath,
  type RenditionFile,
} from '../../../wire/manifests.ts'
import { CODECS } from '../../../wire/profiles.ts'
import { onOneLine } from '../../../wire/scalars.ts'
import { say } from '../verb.ts'
import { damageOf, type Finding, parsedManifest, type Unlisted } from './findings.ts'

type Entry = ChunkFile | RenditionFile

const NAMES_PER_READ = 512
const isTake = (name: string): boolean => CODECS.some((codec) => name.endsWith(`.${codec}`))

/** Regular files below `takes`, relative to it; links are followed nowhere, and told to `linked`. */
async function* filesBelow(takes: string, linked: (name: string) => unknown = () => {}): AsyncGenerator<string> {
  const waiting = ['']
  for (let dir = waiting.pop(); dir !== undefined; dir = waiting.pop())
    for await (const entry of await fs.promises.opendir(path.join(takes, dir), { bufferSize: NAMES_PER_READ })) {
      if (entry.name.startsWith('.')) continue
      const name = path.join(dir, entry.name)
      if (entry.isDirectory()) waiting.push(name)
      else if (entry.isFile()) yield name
      else if (entry.isSymbolicLink()) linked(name)
    }
}

/** Every manifest, with those of its files that are there. */
export async function* localFindings(takes: string): AsyncGenerator<Finding> {
  const linked = (name: string) => say(`symbolic link, skipped: ${onOneLine(name)}\n`)
  for await (const name of filesBelow(takes, linked)) {
    const place = besideManifest(name)
    if (place !== undefined) yield await finding(takes, place)
  }
}

async function finding(takes: string, place: string): Promise<Finding> {
  try {
    const { manifest, own } = parsedManifest(manifestText(path.join(takes, manifestPath(place))))
    const mine = await asItIs(takes, { ...own, path: place })
    if (!mine) return { damaged: 'its audio file is missing', place }
    const isChanged = mine.sizeBytes !== own.sizeBytes
    return { entries: [mine, ...others(takes, manifest, mine)], isChanged, manifest, place }
  } catch (e) {
    return { damaged: damageOf(e), place }
  }
}

function manifestText(file: string): string {
  const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW)
  try {
    if (fs.fstatSync(fd).size > MAX_MANIFEST_BYTES) throw new Error('it is too large')
    return fs.readFileSync(fd, 'utf8')
  } finally {
    fs.closeSync(fd)
  }
}

const sizeThere = (takes: string, place: string): number | undefined => {
  const stat = fs.lstatSync(path.join(takes, place), { throwIfNoEntry: false })
  return stat?.isFile() && stat.size > 0 ? stat.size : undefined
}

/** Whether no folder on the way to a file that is there is a link. */
function isBelow(takes: string, place: string): boolean {
  const dir = path.dirname(place)
  return fs.realpathSync(path.join(takes, dir)) === path.join(fs.realpathSync(takes), dir)
}

/** A file of another size was written after its manifest: what it holds now is what counts. */
async function asItIs(takes: string, own: Entry): Promise<Entry | undefined> {
  const sizeBytes = sizeThere(takes, own.path)
  if (sizeBytes === undefined) return undefined
  if (sizeBytes === own.sizeBytes) return own
  return { ...own, checksum: await checksumOfFile(path.join(takes, own.path)), sizeBytes }
}

/** The other files a manifest names, as far as they are there as it says; what lies beside a file itself counts more. */
function others(takes: string, { chunks, renditions }: Parameters<typeof named>[0], own: Entry): Entry[] {
  const seen = new Set([own.path, keyOf(own)])
  return named({ chunks, renditions }).filter((entry) => {
    if (seen.has(entry.path) || seen.has(keyOf(entry))) return false
    for (const key of [entry.path, keyOf(entry)]) seen.add(key)
    const isThere = sizeThere(takes, entry.path) === entry.sizeBytes && isBelow(takes, entry.path)
    return isThere && !sizeThere(takes, manifestPath(entry.path))
  })
}

const named = ({
  chunks,
  renditions,
}: {
  chunks?: { files: ChunkFile[] } | undefined
  renditions: RenditionFile[]
}) => [...renditions, ...(chunks?.files ?? [])]
const keyOf = (entry: Entry): string => `${'index' in entry ? entry.index : ''} ${entry.rendition}`

/** Takes that are not `known`, as names of the directory tell. */
export async function* localUnlisted(takes: string, known: (place: string) => boolean): AsyncGenerator<Unlisted> {
  for await (const place of filesBelow(takes)) {
    if (!isTake(place) || known(place)) continue
    // A name that is not UTF-8 is not found by what was read of it.
    const stat = fs.lstatSync(path.join(takes, place), { throwIfNoEntry: false })
    const { mtimeMs = 0, size = 0 } = stat ?? {}
    if (!stat) say(`not readable by its name: ${onOneLine(place)}\n`)
    if (size > 0) yield { modifiedAt: mtimeMs, place, sizeBytes: size }
  }
}
