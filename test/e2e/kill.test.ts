import { describe, test } from 'node:test'
import { KINDS, rounds } from './kill.ts'

// Another seed each time: a failure names its own, and `scripts/node test/e2e/kill.ts --seed N` repeats it.
const seed = Math.floor(Math.random() * 1e6)

describe('kill -9 at a random moment loses no audio', { concurrency: 4 }, () => {
  // Two rounds: the first takes wav, the second mp3.
  for (const kind of KINDS) test(kind, (t) => rounds(kind, 2, seed, (line) => t.diagnostic(line)))
})
