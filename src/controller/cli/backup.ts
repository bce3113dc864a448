// roomtone backup: one consistent copy of a running controller.

import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { iso, systemClock } from '../../kernel/clock.ts'
import { hasCode } from '../../kernel/durable.ts'
import { misuse } from '../../kernel/fail.ts'
import { sizeText } from '../../kernel/size.ts'
import { version } from '../../kernel/version.ts'
import { counted, faultWords } from '../../kernel/words.ts'
import { copyDatabase } from '../store/backup.ts'
import { Db } from '../store/db.ts'
import { schemaOf } from '../store/migrate.ts'
import { stampBackup } from './stamp.ts'
import { copyTakes, fromDirectory, type TakesReport } from './takes.ts'
import { type ControllerFiles, ENVIRONMENT_HELP, openDatabase, progress, runVerb, say } from './verb.ts'

const HELP = `usage: roomtone backup TARGET [--takes] [--key]

Copies the controller's database while it runs. A TARGET ending in .db is one file; anything else is a directory that gets
roomtone.db and manifest.json, and is updated when it is used again.

  --takes   also the stored audio, checked against its checksums; intact files that are there already are not copied again
  --key     also the generated secret.key, without which sealed secrets (SSH keys, upload passwords) cannot be read;
            keep such a backup as safe as the key itself

${ENVIRONMENT_HELP}
Files that root creates belong to root. Exit code 1: the backup was made, but some audio was missing or damaged.
`

export interface Manifest {
  createdAt: string
  schema: number
  takes?: TakesReport
  version: string
}

export const main = (args: string[]): Promise<number> =>
  runVerb(args, {
    help: HELP,
    onlyReads: true,
    options: { takes: { type: 'boolean' }, key: { type: 'boolean' } },
    run: async ([target, ...more], { key, takes }, place) => {
      if (!target || more[0]) throw misuse('name one target: see roomtone backup --help')
      const single = target.endsWith('.db')
      if (single && (takes || key)) throw misuse('A single file holds no audio and no key: name a directory.')
      if (single) return toFile(path.resolve(target), place)
      return toDirectory(path.resolve(target), place, { key: Boolean(key), takes: Boolean(takes) })
    },
  })

async function toFile(file: string, place: ControllerFiles): Promise<number> {
  await fs.mkdir(path.dirname(file), { recursive: true, mode: 0o750 })
  const at = iso(systemClock.now())
  await snapshot(file, place)
  stamped(place, { at, target: file })
  return say(`${file}: ${sizeText((await fs.stat(file)).size)}, checked.\n`)
}

async function toDirectory(
  dir: string,
  place: ControllerFiles,
  wanted: { key: boolean; takes: boolean },
): Promise<number> {
  await fs.mkdir(dir, { recursive: true, mode: 0o750 })
  const file = path.join(dir, 'roomtone.db')
  const createdAt = iso(systemClock.now())
  await snapshot(file, place)
  const copy = new Db(file, place.addon, { plain: true })
  try {
    // The rows of the copy decide which audio belongs to it.
    const takes = wanted.takes
      ? await copyTakes(copy, fromDirectory(place.takes), path.join(dir, 'recordings'), progress())
      : undefined
    const manifest: Manifest = { createdAt, schema: schemaOf(copy), version, ...(takes ? { takes } : {}) }
    await fs.writeFile(path.join(dir, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o640 })
    const key = await keyNote(dir, place, wanted.key)
    stamped(place, { at: createdAt, target: dir })
    say(`${dir}: database ${sizeText((await fs.stat(file)).size)}, checked.\n${takes ? reportText(takes) : ''}${key}`)
    return takes && takes.damaged.length + takes.missing.length > 0 ? 1 : 0
  } finally {
    copy.close()
  }
}

async function snapshot(file: string, place: ControllerFiles): Promise<void> {
  const db = openDatabase(place)
  const tell = progress()
  try {
    await copyDatabase(db, file, place.addon, ({ pages, total }) => tell(`database: ${pages} of ${total} pages`))
  } finally {
    db.close()
  }
}

/** A backup is made, whether that can be noted or not. */
function stamped({ config }: ControllerFiles, stamp: Parameters<typeof stampBackup>[1]): void {
  try {
    stampBackup(config.SVC_DATA_DIR, stamp)
  } catch (e) {
    process.stderr.write(`That a backup was made could not be noted for roomtone doctor: ${faultWords(e)}.\n`)
  }
}

async function keyNote(dir: string, place: ControllerFiles, wanted: boolean): Promise<string> {
  const key = path.join(place.config.SVC_DATA_DIR, 'secret.key')
  try {
    if (!wanted) {
      await fs.access(key)
      return `The key ${key} is not in this backup: keep a copy of it elsewhere, sealed secrets need it.\n`
    }
    await fs.copyFile(key, path.join(dir, 'secret.key'))
    await fs.chmod(path.join(dir, 'secret.key'), 0o600)
    return 'The key is in this backup: whoever reads it can unseal its secrets.\n'
  } catch (e) {
    // A configured SVC_SECRET_KEY lives with the settings: there is no file to copy.
    if (hasCode(e, 'ENOENT')) return ''
    throw e
  }
}

function reportText({ bytes, copied, damaged, elsewhere, files, missing }: TakesReport): string {
  const lines = [`audio: ${counted(files, 'file')}, ${sizeText(bytes)}; ${copied} copied now.`]
  if (elsewhere > 0) lines.push(`at destinations alone, and not in this backup: ${counted(elsewhere, 'file')}`)
  for (const file of missing) lines.push(`missing: ${file}`)
  for (const file of damaged) lines.push(`damaged, not copied: ${file}`)
  return `${lines.join('\n')}\n`
}
