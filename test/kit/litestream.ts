// Litestream 0.3 beside a database of ours, as the shipped settings have it, replicating into an object store.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import * as path from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { ROOT } from './executable.ts'
import { freePort } from './prometheus.ts'
import { until } from './whole.ts'

const SHIPPED = path.join(ROOT, 'deploy', 'litestream', 'litestream-0.3.yml')
const DATABASE = '/var/lib/roomtone/controller/roomtone.db'
const REGION = 'us-east-1'

function programOf(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('@flydotio/litestream-linux-x64/litestream')
  } catch {
    return undefined
  }
}
const PROGRAM = programOf()

/** Why tests with it are skipped; false where it can run. */
export const NO_LITESTREAM = PROGRAM ? false : 'there is no Litestream for this machine'

/** Where an object store is, and who asks. */
export interface Store {
  accessKeyId: string
  endpoint: string
  secretAccessKey: string
}

export async function makeBucket(store: Store, Bucket: string): Promise<void> {
  const client = new S3Client({ credentials: store, endpoint: store.endpoint, forcePathStyle: true, region: REGION })
  await client.send(new CreateBucketCommand({ Bucket }))
  client.destroy()
}

/** A place in the write-ahead log: which of the logs since the replica began, and the byte behind the last commit. */
export interface Position {
  index: number
  offset: number
}

interface How {
  /** The database file of a controller; it need not be there yet. */
  database: string
  /** A directory of its own. */
  dir: string
  store: Store
  /** s3://BUCKET/FOLDER */
  url: string
}

export class Litestream {
  readonly #config: string
  readonly #database: string
  readonly #env: Record<string, string>
  readonly #running = new Set<ChildProcess>()
  #child: ChildProcess | undefined
  #metrics = ''
  #said = ''

  constructor({ database, dir, store, url }: How) {
    fs.mkdirSync(dir, { recursive: true })
    const shipped = fs.readFileSync(SHIPPED, 'utf8')
    assert.ok(shipped.includes(`path: ${DATABASE}\n`))
    this.#config = path.join(dir, 'litestream.yml')
    fs.writeFileSync(this.#config, shipped.replace(DATABASE, database))
    this.#database = database
    this.#env = {
      LITESTREAM_ACCESS_KEY_ID: store.accessKeyId,
      LITESTREAM_ENDPOINT: store.endpoint,
      LITESTREAM_REGION: REGION,
      LITESTREAM_REPLICA_URL: url,
      LITESTREAM_SECRET_ACCESS_KEY: store.secretAccessKey,
    }
  }

  get pid(): number {
    assert.ok(this.#child?.pid, 'Litestream was started')
    return this.#child.pid
  }

  /** Everything it said, restores too. */
  said = (): string => this.#said

  /** Replicates from here on. @throws Error when it ends at once */
  async start(): Promise<this> {
    this.#metrics = `127.0.0.1:${await freePort()}`
    const child = this.#run(['replicate'], { LITESTREAM_METRICS_ADDR: this.#metrics })
    this.#child = child
    await until('Litestream to answer', () => {
      assert.equal(child.exitCode, null, this.#said)
      return this.#asked().catch(() => undefined)
    })
    return this
  }

  /** SIGTERM lets it send what is left; SIGKILL does not. */
  async end(signal: NodeJS.Signals): Promise<void> {
    assert.ok(this.#child, 'Litestream was started')
    await ended(this.#child, signal)
  }

  /** Up to where it has copied the log here (`read`), and up to where the store has it. @throws Error when it does not answer */
  async positions(): Promise<{ read: Position; stored: Position }> {
    const text = await this.#asked()
    const of = (index: string, offset: string) => ({ index: metric(text, index), offset: metric(text, offset) })
    return {
      read: of('shadow_wal_index', 'shadow_wal_size'),
      stored: of('replica_wal_index', 'replica_wal_offset'),
    }
  }

  /**
   * Resolves once the store has everything that is committed now, or a little later where the log begins anew. What it has
   * of the time before its latest start Litestream does not tell: something has to be committed since.
   */
  async caughtUp(seconds = 40): Promise<void> {
    let wanted = logOf(this.#database)
    await until(
      'the replica to have it all',
      async () => {
        const { read, stored } = await this.positions()
        const { end, salt } = logOf(this.#database)
        const same = salt === wanted.salt
        if (!same) wanted = { end, salt }
        return same && stored.index === read.index && stored.offset >= wanted.end
      },
      seconds,
    )
  }

  /** How often a whole copy had to begin anew, as the store has them: 1 as long as no commit escaped. */
  async generations(): Promise<number> {
    const said = await this.#done(['generations', this.#database])
    return said.split('\n').filter((line) => /^s3 /.test(line)).length
  }

  /** The database as the store has it, as a new file. `more`: further arguments. @throws Error with its words */
  async restore(file: string, more: string[] = []): Promise<void> {
    await this.#done(['restore', ...more, '-o', file, this.#database])
  }

  /** Leaves nothing running. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map((child) => ended(child, 'SIGKILL')))
  }

  /** What it said until its end. */
  async #done(args: string[]): Promise<string> {
    const before = this.#said.length
    const child = this.#run(args)
    const [code] = await once(child, 'close')
    const said = this.#said.slice(before)
    if (code !== 0) throw new Error(`litestream ${args[0]} ended with ${code}:\n${said}`)
    return said
  }

  #run([verb, ...args]: string[], env: Record<string, string> = {}): ChildProcess {
    const child = spawn(PROGRAM as string, [verb as string, '-config', this.#config, ...args], {
      env: { ...this.#env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#said += text
      })
    this.#running.add(child)
    // Also where a test ends before it can close it.
    const end = () => child.kill('SIGKILL')
    process.once('exit', end)
    child.once('close', () => {
      process.off('exit', end)
      this.#running.delete(child)
    })
    return child
  }

  async #asked(): Promise<string> {
    return (await fetch(`http://${this.#metrics}/metrics`)).text()
  }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const over = once(child, 'close')
  child.kill(signal)
  await over
}

const metric = (text: string, name: string): number =>
  Number(new RegExp(`^litestream_${name}\\{.*\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)

const LOG_HEADER = 32
const FRAME_HEADER = 24

/**
 * The log of a database as SQLite's index of it tells (its format: https://www.sqlite.org/walformat.html): `salt` is another
 * one whenever the log begins anew, `end` the byte behind the last commit.
 */
export function logOf(database: string): { end: number; salt: number } {
  const header = Buffer.alloc(48)
  const fd = fs.openSync(`${database}-shm`, 'r')
  try {
    fs.readSync(fd, header, 0, header.length, 0)
  } finally {
    fs.closeSync(fd)
  }
  // 1 stands for 65,536.
  const pageSize = header.readUInt16LE(14) === 1 ? 65_536 : header.readUInt16LE(14)
  return { end: LOG_HEADER + header.readUInt32LE(16) * (FRAME_HEADER + pageSize), salt: header.readUInt32BE(32) }
}
