// Writes sql/schema.sql anew from the migrations: scripts/node test/conventions/schema.update.ts
import { writeFileSync } from 'node:fs'
import * as path from 'node:path'
import { Db } from '../../src/controller/store/db.ts'
import { dumpSchema, migrate } from '../../src/controller/store/migrate.ts'
import { migrations } from '../kit/kit.ts'

const db = new Db(':memory:')
migrate(db, migrations)
const header =
  '-- The schema as all migrations leave it. Made by test/conventions/schema.update.ts; not run by anything.\n\n'
writeFileSync(path.resolve(import.meta.dirname, '../../sql/schema.sql'), header + dumpSchema(db))
db.close()
