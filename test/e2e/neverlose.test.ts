import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { after, describe, test } from 'node:test'
import { impossible, KINDS, rounds } from './neverlose.ts'

// Another seed each time: a failure names its own, and `scripts/node test/e2e/neverlose.ts --seed N` repeats it. What
// hangs on milliseconds is not left to that: some kinds name the step at which the trouble comes.
const seed = Math.floor(Math.random() * 1e6)
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'roomtone-mount-'))

describe('no take is lost', { concurrency: 4 }, () => {
  after(() => fs.rmSync(scratch, { recursive: true }))
  for (const kind of KINDS)
    test(kind, { skip: impossible(kind, scratch) }, (t) => rounds(kind, 1, seed, (line) => t.diagnostic(line)))
})
