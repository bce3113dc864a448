// What we use of better-sqlite3 13: the package ships no types. One place (db.ts) imports it.
declare module 'better-sqlite3' {
  namespace Database {
    type Value = string | number | bigint | null | Uint8Array

    interface RunResult {
      changes: number
      lastInsertRowid: number | bigint
    }

    interface Column {
      name: string
      column: string | null
      table: string | null
      database: string | null
      type: string | null
    }

    /** `P`: what is bound (positional values or one object of named ones), `R`: a row. */
    interface Statement<P extends unknown[] = unknown[], R = unknown> {
      readonly database: Database
      readonly source: string
      readonly reader: boolean
      readonly readonly: boolean
      readonly busy: boolean
      run(...params: P): RunResult
      get(...params: P): R | undefined
      all(...params: P): R[]
      iterate(...params: P): IterableIterator<R>
      bind(...params: P): this
      pluck(on?: boolean): this
      raw(on?: boolean): this
      expand(on?: boolean): this
      safeIntegers(on?: boolean): this
      columns(): Column[]
    }

    type Transaction<A extends unknown[], T> = ((...args: A) => T) & {
      default(...args: A): T
      deferred(...args: A): T
      immediate(...args: A): T
      exclusive(...args: A): T
    }

    interface Options {
      readonly?: boolean
      fileMustExist?: boolean
      /** Milliseconds to wait for a lock; default 5000. */
      timeout?: number
      verbose?: (message?: unknown, ...more: unknown[]) => void
      /** Path of the addon, or the addon itself. */
      nativeBinding?: string | object
    }

    interface FunctionOptions {
      varargs?: boolean
      deterministic?: boolean
      directOnly?: boolean
      safeIntegers?: boolean
    }

    interface BackupProgress {
      totalPages: number
      remainingPages: number
    }

    interface BackupOptions {
      attached?: string
      /** Called between steps; its result is the number of pages of the next step. */
      progress?: (progress: BackupProgress) => number | undefined
    }

    interface SqliteError extends Error {
      readonly code: string
    }

    interface Database {
      readonly name: string
      readonly open: boolean
      readonly inTransaction: boolean
      readonly readonly: boolean
      readonly memory: boolean
      prepare<P extends unknown[] = unknown[], R = unknown>(sql: string): Statement<P, R>
      transaction<A extends unknown[], T>(run: (...args: A) => T): Transaction<A, T>
      exec(sql: string): this
      pragma(sql: string, options?: { simple?: boolean }): unknown
      function(name: string, run: (...args: never[]) => unknown): this
      function(name: string, options: FunctionOptions, run: (...args: never[]) => unknown): this
      backup(file: string, options?: BackupOptions): Promise<BackupProgress>
      serialize(options?: { attached?: string }): Buffer
      defaultSafeIntegers(on?: boolean): this
      close(): this
    }

    interface Constructor {
      new (file?: string | Buffer, options?: Options): Database
      readonly SqliteError: new (message: string, code: string) => SqliteError
    }
  }

  const Database: Database.Constructor
  export = Database
}
