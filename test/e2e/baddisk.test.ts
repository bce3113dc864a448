import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, describe, test } from 'node:test'
import { impossible, KINDS, rounds } from './baddisk.ts'

// Another seed each time: a failure names its own, and `scripts/node test/e2e/baddisk.ts --seed N` repeats it.
const seed = Math.floor(Math.random() * 1e6)
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-mount-'))

describe('bad disks lose no take and no row', { concurrency: 4 }, () => {
  after(() => fs.rmSync(scratch, { recursive: true }))
  for (const kind of KINDS)
    test(kind, { skip: impossible(kind, scratch) }, (t) => rounds(kind, 1, seed, (line) => t.diagnostic(line)))
})
