import { describe, test } from 'node:test'
import { immovable } from '../kit/wallclock.ts'
import { KINDS, rounds } from './clock.ts'

// Another seed each time: a failure names its own, and `scripts/node test/e2e/clock.ts --seed N` repeats it.
const seed = Math.floor(Math.random() * 1e6)

describe('a wall clock that jumps costs no take, no lease and no pass, and starts nothing twice', {
  concurrency: true,
  skip: immovable(),
}, () => {
  for (const kind of KINDS) test(`the clock of ${kind}`, (t) => rounds(kind, 3, seed, (line) => t.diagnostic(line)))
})
