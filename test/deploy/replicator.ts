// What a replicator of the WAL (Litestream) does to the database of a running controller, step by step: it holds a read
// transaction so that the WAL cannot begin anew, copies frames up to the last commit, and alone decides on checkpoints.
import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Db } from '../../src/controller/store/db.ts'

const HEADER = 32
const FRAME = 24

interface Generation {
  database: Buffer
  /** The whole committed frames of each WAL, one after another. */
  wals: Buffer[]
}

export class Replicator {
  readonly generations: Generation[] = []
  readonly #db: Db
  // Held open to the end: closing any descriptor of the file would take this process's own locks on it away.
  readonly #fd: number
  readonly #pageSize: number
  #salt = ''
  readonly #wal: string

  constructor(file: string) {
    this.#wal = `${file}-wal`
    this.#db = new Db(file, undefined, { plain: true, waitMs: 1000 })
    this.#fd = fs.openSync(file, 'r')
    this.#db.raw.pragma('wal_autocheckpoint = 0')
    this.#pageSize = this.#db.raw.pragma('page_size', { simple: true }) as number
    this.#db.raw.exec(`CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
      CREATE TABLE IF NOT EXISTS _litestream_lock (id INTEGER);`)
    this.#bump()
    this.#hold()
    this.sync()
  }

  /** Copies what was committed since the last time. A WAL that began anew behind its back costs a new generation. */
  sync(): void {
    const wal = fs.readFileSync(this.#wal)
    const salt = wal.toString('hex', 16, 24)
    const current = this.generations.at(-1)
    if (!current || salt !== this.#salt) this.#begin(salt)
    const wals = this.generations.at(-1)!.wals
    wals[wals.length - 1] = committed(wal, this.#pageSize)
  }

  /** Gives the WAL back: its frames go into the database. What was written meanwhile must not get lost. */
  checkpoint(mode: 'PASSIVE' | 'RESTART' | 'TRUNCATE'): void {
    this.sync()
    const copied = this.#frames()
    this.release()
    const [{ log }] = this.#db.raw.pragma(`wal_checkpoint(${mode})`) as [{ log: number }]
    // After TRUNCATE nothing is left to be counted; what came between copy and lock would be seen by nobody.
    const whole = mode !== 'TRUNCATE' && log === copied
    this.#bump()
    this.#hold()
    const salt = fs.readFileSync(this.#wal).toString('hex', 16, 24)
    if (salt !== this.#salt && whole) this.#next(salt)
    this.sync()
  }

  /** Holds the write lock for a while, as replicators do to copy the last frames before a checkpoint. */
  async lock(ms: number): Promise<void> {
    this.release()
    this.#db.raw.exec('BEGIN IMMEDIATE; INSERT INTO _litestream_lock VALUES (1)')
    await sleep(ms)
    this.#db.raw.exec('ROLLBACK')
    this.#hold()
  }

  /** Gives the read transaction up: from here on anybody's checkpoint may let the WAL begin anew. */
  release(): void {
    this.#db.raw.exec('ROLLBACK')
  }

  /** Takes it again, and looks what has happened. */
  hold(): void {
    this.#hold()
    this.sync()
  }

  /** Rows of every table at one moment, which is also the replica's. */
  moment(): Map<string, string[]> {
    this.release()
    // Nobody writes between the copy and the look.
    this.#db.raw.exec('BEGIN IMMEDIATE')
    this.sync()
    const rows = rowsOf(this.#db)
    this.release()
    this.#hold()
    return rows
  }

  /** Changes something, between two reads. */
  sql(text: string): void {
    this.release()
    this.#db.raw.exec(text)
    this.#hold()
  }

  close(): void {
    if (this.#db.raw.inTransaction) this.release()
    this.#db.close()
    fs.closeSync(this.#fd)
  }

  #hold(): void {
    this.#db.raw.exec('BEGIN')
    this.#db.raw.prepare('SELECT count(*) FROM _litestream_seq').get()
  }

  #bump(): void {
    this.#db.raw.exec('INSERT INTO _litestream_seq VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET seq = seq + 1')
  }

  #frames(): number {
    return this.generations.at(-1)!.wals.at(-1)!.length / (FRAME + this.#pageSize)
  }

  #begin(salt: string): void {
    const database = Buffer.alloc(fs.fstatSync(this.#fd).size)
    fs.readSync(this.#fd, database, 0, database.length, 0)
    this.generations.push({ database, wals: [Buffer.alloc(0)] })
    this.#salt = salt
  }

  #next(salt: string): void {
    this.generations.at(-1)!.wals.push(Buffer.alloc(0))
    this.#salt = salt
  }
}

/** The frames of a WAL that belong to it, up to its last commit; what lies behind is of an earlier round. */
function committed(wal: Buffer, pageSize: number): Buffer {
  const salt = wal.subarray(16, 24)
  let end = HEADER
  for (let at = HEADER; at + FRAME + pageSize <= wal.length; at += FRAME + pageSize) {
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break
    if (wal.readUInt32BE(at + 4) > 0) end = at + FRAME + pageSize
  }
  return wal.subarray(HEADER, end)
}

/** The database of the latest generation, put together from its first copy and all frames since. */
export function restored({ generations }: Replicator, file: string): void {
  const { database, wals } = generations.at(-1)!
  fs.writeFileSync(file, database)
  // 1 stands for 65,536.
  const pageSize = database.readUInt16BE(16) === 1 ? 65_536 : database.readUInt16BE(16)
  const fd = fs.openSync(file, 'r+')
  for (const wal of wals)
    for (let at = 0; at < wal.length; at += FRAME + pageSize) {
      fs.writeSync(fd, wal, at + FRAME, pageSize, (wal.readUInt32BE(at) - 1) * pageSize)
      const pages = wal.readUInt32BE(at + 4)
      if (pages > 0) fs.ftruncateSync(fd, pages * pageSize)
    }
  fs.fsyncSync(fd)
  fs.closeSync(fd)
}

/** Every row of every table as text, sorted; without the replicator's own tables. */
export function rowsOf(db: Db): Map<string, string[]> {
  const tables = db.raw
    .prepare<[], { name: string }>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_litestream\\_%' ESCAPE '\\'
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .all()
  return new Map(
    tables.map(({ name }) => [
      name,
      (db.raw.prepare(`SELECT * FROM "${name}"`).all() as object[]).map((row) => JSON.stringify(row)).sort(),
    ]),
  )
}
