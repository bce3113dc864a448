import { describe, test } from 'node:test'
import { noLines } from './netns.ts'
import { KINDS, rounds } from './network.ts'

// Another seed each time: a failure names its own, and `scripts/node test/e2e/network.ts --seed N` repeats it.
const seed = Math.floor(Math.random() * 1e6)

describe('bad lines lose no audio', { concurrency: 4, skip: noLines() }, () => {
  for (const kind of KINDS) test(kind, (t) => rounds(kind, 1, seed, (line) => t.diagnostic(line)))
})
