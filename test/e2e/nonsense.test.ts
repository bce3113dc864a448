import { test } from 'node:test'
import { linkRounds } from './nonsense.link.ts'
import { rounds } from './nonsense.ts'

// Another seed each time: a failure names its own, and `scripts/node test/e2e/nonsense.ts --seed N` repeats it.
const seed = Math.floor(Math.random() * 1e6)

test('a controller that has lost its mind takes no recorder with it', (t) =>
  rounds(1, seed, (line) => t.diagnostic(line), 3))

test('what the client of an agent throws at any answer is what its callers expect', (t) =>
  linkRounds(4000, seed, (line) => t.diagnostic(line)))
