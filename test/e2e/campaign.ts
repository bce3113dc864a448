// The one door to everything that does harm at random:
// npm run campaign -- --what network,disk [--rounds 200] [--seed N] [--together 2]; without --what: all of it, one after the other.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { KINDS as DISK } from './baddisk.ts'
import { KINDS as KILL } from './kill.ts'
import { KINDS as NETWORK } from './network.ts'
import { KINDS as NEVERLOSE } from './neverlose.ts'
import { KINDS as TAKEOVER } from './takeover.campaign.ts'

/** A program, and its arguments for so many rounds over all its kinds. */
interface Part {
  args: (rounds: number) => string[]
  program: string
  /** Of this campaign's rounds. */
  share: number
}

const each = (rounds: number, kinds: readonly string[]): string => String(Math.ceil(rounds / kinds.length))
const ofKinds = (program: string, kinds: readonly string[], share = 1): Part => ({
  args: (rounds) => ['--rounds', each(rounds, kinds), '--kind', kinds.join()],
  program,
  share,
})
const counted = (program: string): Part => ({ args: (rounds) => ['--rounds', String(rounds)], program, share: 1 })

const starting = (...starts: string[]) =>
  NEVERLOSE.filter((kind) => starts.some((start) => kind.startsWith(`${start}/`)))
const KILLS = starting('kill', 'crash', 'copy')
const FULL = starting('full')

/** What there is, and how many rounds of it a release has to stand. */
const CAMPAIGNS: Record<string, { parts: Part[]; rounds: number }> = {
  answers: { parts: [counted('nonsense.ts')], rounds: 100_000 },
  disk: {
    parts: [
      ofKinds('baddisk.ts', DISK, DISK.length / (DISK.length + FULL.length)),
      ofKinds('neverlose.ts', FULL, FULL.length / (DISK.length + FULL.length)),
    ],
    rounds: 200,
  },
  kill: {
    parts: [
      ofKinds('kill.ts', KILL, KILL.length / (KILL.length + KILLS.length)),
      ofKinds('neverlose.ts', KILLS, KILLS.length / (KILL.length + KILLS.length)),
    ],
    rounds: 1000,
  },
  network: { parts: [ofKinds('network.ts', NETWORK)], rounds: 200 },
  power: { parts: [ofKinds('neverlose.ts', starting('power'))], rounds: 200 },
  requests: { parts: [counted('requests.ts')], rounds: 1_000_000 },
  sim: {
    parts: [{ args: (days) => ['--days', String(days), '--faults', '8'], program: '../sim/run.ts', share: 1 }],
    rounds: 500,
  },
  takeover: { parts: [ofKinds('takeover.campaign.ts', TAKEOVER)], rounds: 50 },
}

interface Row {
  failed: boolean
  minutes: number
  /** Lines that tell of a round; of what is no round, none. */
  told: number
  what: string
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** Runs a part to its end, and lets it talk. */
async function runPart(what: string, part: Part, rounds: number, more: string[]): Promise<Row> {
  const file = path.join(import.meta.dirname, part.program)
  const args = [...part.args(Math.max(1, Math.round(rounds * part.share))), ...more]
  say(`\n${what}: ${part.program} ${args.join(' ')}`)
  const began = performance.now()
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let told = 0
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (/^\d+ seed=|^seed \d+:/.test(line)) told++
    say(line)
  })
  const [code] = await once(child, 'close')
  return { failed: code !== 0, minutes: (performance.now() - began) / 60_000, told, what: `${what}/${part.program}` }
}

function table(rows: Row[], seed: number): void {
  say(`\nseed ${seed}`)
  say('what                      rounds told  minutes')
  for (const { failed, minutes, told, what } of rows)
    say(
      `${what.padEnd(26)}${String(told).padStart(11)}${minutes.toFixed(1).padStart(9)}  ${failed ? 'FAILED' : 'well'}`,
    )
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seed: { type: 'string' },
    together: { type: 'string' },
    what: { default: Object.keys(CAMPAIGNS).join(), type: 'string' },
  },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e6))
const rows: Row[] = []
for (const what of values.what.split(',')) {
  const campaign = CAMPAIGNS[what]
  if (!campaign) throw new Error(`there is no campaign "${what}"; there are ${Object.keys(CAMPAIGNS).join(', ')}`)
  for (const part of campaign.parts) {
    const together = values.together && part.args(1).includes('--kind') ? ['--together', values.together] : []
    const more = ['--seed', String(seed), ...together]
    rows.push(await runPart(what, part, Number(values.rounds ?? campaign.rounds), more))
  }
}
table(rows, seed)
process.exitCode = rows.some(({ failed }) => failed) ? 1 : 0
