import { test } from 'node:test'
import { NO_LITESTREAM } from '../kit/litestream.ts'
import { KINDS, rounds } from './takeover.campaign.ts'

// Another seed each time, and another kind: a failure names both, and `scripts/node test/e2e/takeover.campaign.ts --seed N
// --kind KIND` repeats it. takeover.test.ts has a step of each.
const seed = Math.floor(Math.random() * 1e6)
const kind = KINDS[seed % KINDS.length]!

test('a takeover while everything records costs no second', { skip: NO_LITESTREAM }, (t) =>
  rounds(kind, 1, seed, (line) => t.diagnostic(line)),
)
