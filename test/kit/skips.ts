// What the tests of a run skipped, and whether that is known: scripts/node test/kit/skips.ts <the run as TAP>
import { readFileSync } from 'node:fs'

/** Tests that a machine may lack something for, by their whole names, and why that is no fault of the machine. */
const KNOWN: Record<string, string> = {
  'PipeWire: every channel as it is, bare samples, and no other device':
    'a PipeWire server with its session manager is not installed beside every test: it brings a desktop along',
}

const skipped = [...readFileSync(process.argv[2] as string, 'utf8').matchAll(/^\s*ok \d+ - (.*) # SKIP ?(.*)$/gm)]
const unknown = skipped.filter(([, name = '']) => !Object.hasOwn(KNOWN, name))
for (const [, name, why] of unknown)
  console.error(`skipped, and not listed in test/kit/skips.ts: ${name} (${why || 'no reason'})`)
process.exitCode = unknown.length > 0 ? 1 : 0
