import { test } from 'node:test'
import { rounds } from './requests.ts'

// Another seed each time: a failure names its own, and `scripts/node test/e2e/requests.ts --seed N` repeats it.
const seed = Math.floor(Math.random() * 1e6)

test('requests of any kind in a row: no 5xx, and every one is answered', (t) =>
  rounds(8000, seed, (line) => t.diagnostic(line)))
