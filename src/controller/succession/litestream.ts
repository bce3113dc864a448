// Litestream as a child: it replicates the database of the controller, and restores it for a standby.
import * as fs from 'node:fs/promises'
import * as path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { replaceFile } from '../../kernel/durable.ts'
import { UserError } from '../../kernel/fail.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import { faultWords } from '../../kernel/words.ts'
import { lastWords, NotStarted, type Program, run, start } from '../../system/host/run.ts'
import type { BucketPlace, PairSettings } from './place.rules.ts'

/** A whole copy so often; a restore reads the latest one and what came after it. */
const SNAPSHOT_INTERVAL = '1h'
const RETENTION = '24h'
const RESTART_MS = 2000
/** One that has run so long is well again. */
const WELL_MS = 60_000
const STOP_MS = 10_000
const KEPT_WORDS = 400
/** What setpriv ends with when there is no such program, or it may not do its part. */
const NOT_STARTED = 127
/** A database of gigabytes takes a while. */
const RESTORE_MS = 600_000

/**
 * The child ends with us, however we end; SIGTERM lets it send what is written. systemd does that for a service of its own,
 * whose sandbox lets setpriv do nothing (`SystemCallFilter=~@privileged`).
 */
const ENDING_WITH_US = ['/usr/bin/setpriv', '--pdeathsig', 'TERM']

export interface Litestream {
  /** Replicates until `stop`, which sends the last of it. */
  replicate(database: string, to: BucketPlace): Promise<Replication>
  /** Writes the newest state of a replica into a new file. @throws UserError in Litestream's words */
  restore(from: BucketPlace, file: string, signal: AbortSignal): Promise<void>
}

interface Parts {
  /** For its settings, which name no key. */
  dir: string
  log: Log
  /** Whether a service manager ends what is left of us. */
  managed: boolean
  programDirs: readonly string[]
}

export function litestreamOf(pair: PairSettings, { dir, log, managed, programDirs }: Parts): Litestream {
  const keys = { LITESTREAM_ACCESS_KEY_ID: pair.accessKeyId, LITESTREAM_SECRET_ACCESS_KEY: pair.secretAccessKey }
  const env = { ...keys, HOME: dir, LC_ALL: 'C', PATH: programDirs.join(':') }
  const configured = async (name: string, database: string, place: BucketPlace): Promise<string[]> => {
    const file = path.join(dir, `litestream.${name}.yml`)
    // JSON is YAML.
    await replaceFile(file, JSON.stringify({ dbs: [{ path: database, replicas: [replicaConfig(place)] }] }, null, 2))
    return ['-config', file, '-no-expand-env']
  }
  return {
    async replicate(database, to) {
      const args = ['replicate', ...(await configured('replicate', database, to))]
      const [command = '', ...words] = [...(managed ? [] : ENDING_WITH_US), pair.litestream, ...args]
      return new Replication(() => start(command, words, { env }), log)
    },
    async restore(from, file, signal) {
      const database = path.join(dir, 'roomtone.db')
      const args = ['restore', ...(await configured('restore', database, from)), '-o', file, database]
      await fs.rm(file, { force: true })
      const { code, stderr, stdout, timedOut } = await run(pair.litestream, args, {
        env,
        signal,
        timeoutMs: RESTORE_MS,
      })
      if (timedOut)
        throw new UserError(
          'Litestream did not finish restoring the database in ten minutes: check the bucket of SVC_REPLICA_URL and the line to it',
        )
      if (code !== 0)
        throw new UserError(
          `Litestream could not restore the database: ${saidBy(stderr + stdout, pair.secretAccessKey)}`,
        )
    },
  }
}

const replicaConfig = ({ bucket, endpoint, key, region }: BucketPlace) => ({
  bucket,
  path: key,
  region,
  ...(endpoint ? { endpoint, 'force-path-style': true } : {}),
  retention: RETENTION,
  'snapshot-interval': SNAPSHOT_INTERVAL,
  'sync-interval': '1s',
  type: 's3',
})

const saidBy = (text: string, secret: string): string =>
  text.replaceAll(secret, '...').trim().split('\n').slice(-2).join(' ').slice(0, KEPT_WORDS)

/** Keeps the child running: it ends by itself only where it cannot go on. */
export class Replication {
  readonly #begin: () => Program
  readonly #log: Log
  readonly #running: Promise<void>
  readonly #stopping = new AbortController()
  #program: Program | undefined
  /** Why it ended last, and since when it runs again; monotonic ms. */
  #ended: string | undefined
  #begunAt = 0

  constructor(begin: () => Program, log: Log) {
    this.#begin = begin
    this.#log = log
    this.#running = this.#run()
  }

  /** Why it does not run, or has just begun once more; undefined while it does. */
  get fault(): string | undefined {
    const isWell = this.#program !== undefined && performance.now() - this.#begunAt >= WELL_MS
    return isWell ? undefined : this.#ended
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#program?.terminate()
    const late = setTimeout(() => this.#program?.kill(), STOP_MS)
    await this.#running
    clearTimeout(late)
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#once().catch((e) => {
        this.#ended = `Litestream could not be started: ${faultWords(e)}`
        this.#log.error(
          'Litestream could not be started, so the database is not replicated; it is tried again',
          errorFields(e),
        )
      })
      await sleep(RESTART_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #once(): Promise<void> {
    const program = this.#begin()
    this.#program = program
    this.#begunAt = performance.now()
    const said = [lastWords(program.stdout, KEPT_WORDS), lastWords(program.stderr, KEPT_WORDS)]
    const { code, signal } = await program.ended
    this.#program = undefined
    if (this.#stopping.signal.aborted) return
    const words = said.map((last) => last()).join('')
    this.#ended = "Litestream keeps exiting; its output is in the controller's log"
    if (code === NOT_STARTED) throw new NotStarted(words)
    this.#log.error('Litestream ended; it is started again', { code, signal, said: words })
  }
}
