// The controller of the simulated site: the real one, put together as src/controller/controller.ts does, without a socket.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { createApp } from '../../src/controller/app.ts'
import { type Config, readConfig } from '../../src/controller/config.ts'
import type { SealKeys } from '../../src/controller/secrets.ts'
import { Db } from '../../src/controller/store/db.ts'
import { embedded, migrate } from '../../src/controller/store/migrate.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { randomIds } from '../../src/kernel/ids.ts'
import type { Log } from '../../src/kernel/log.ts'
import { Box, type Run } from './box.ts'
import { real } from './disk.ts'
import type { Network } from './network.ts'

/** SQLite syncs its own commits: the virtual disk has to be told. */
class SyncedDb extends Db {
  onSynced: () => void = () => {}

  override tx<T>(fn: () => T, durable = true): T {
    const inner = this.raw.inTransaction
    const result = super.tx(fn, durable)
    if (durable && !inner) this.onSynced()
    return result
  }
}

const migrations = embedded()

export class ControllerBox extends Box {
  readonly config: Config
  readonly file: string
  readonly #log: (level: string, message: string, fields?: object) => void
  readonly #keys: SealKeys
  readonly #network: Network
  #db: SyncedDb | undefined

  constructor(
    parts: ConstructorParameters<typeof Box>,
    given: {
      env: Record<string, string>
      keys: SealKeys
      log: (level: string, message: string, fields?: object) => void
      network: Network
    },
  ) {
    super(...parts)
    this.config = readConfig({
      SVC_DATA_DIR: path.join(this.disk.root, 'data'),
      SVC_SECRET_KEY: 'simulated-secret-0123456789',
      ...given.env,
    })
    this.file = path.join(this.config.SVC_DATA_DIR, 'roomtone.db')
    this.#keys = given.keys
    this.#log = given.log
    this.#network = given.network
  }

  /** The database of the running controller, to look into. */
  get db(): Db | undefined {
    return this.#db
  }

  protected async begin(life: Run): Promise<void> {
    const { config } = this
    for (const dir of [config.SVC_DATA_DIR, config.SVC_RECORDING_CACHE_DIR]) fs.mkdirSync(dir, { recursive: true })
    const db = new SyncedDb(this.file, undefined)
    this.#db = db
    migrate(db, migrations)
    db.onSynced = () => this.disk.walSynced(`${this.file}-wal`)
    db.onSynced()
    const controller = createApp({
      clock: systemClock,
      config,
      db,
      ids: randomIds,
      keys: this.#keys,
      log: this.#logOf(),
    })
    await controller.start()
    this.#network.listening = { fetch: (request, env) => controller.app.fetch(request, env), life }
    controller.listening(8787)
    controller.clockWatch.start()
    controller.ticker.start()
  }

  #logOf(): Log {
    const say = (level: string) => (message: string, fields?: object) => this.#log(level, message, fields)
    return { debug: () => {}, error: say('error'), info: () => {}, warn: say('warn') }
  }

  /** SQLite would move its journal into the database as it closes, which a killed process does not. */
  protected ended(life: Run, powerless: boolean): void {
    this.#network.gone(life, powerless)
    const left = [this.file, `${this.file}-wal`].filter((file) => real.existsSync(file))
    for (const file of left) real.copyFileSync(file, `${file}.left`)
    this.#db?.raw.close()
    this.#db = undefined
    for (const file of left) real.renameSync(`${file}.left`, file)
    real.rmSync(`${this.file}-shm`, { force: true })
  }
}
