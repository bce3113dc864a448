// Programs that do harm at random moments: the same seed gives the same rounds, a failure says how to do it again.
import { parseArgs } from 'node:util'

/** So many rounds of one kind, told line by line. `minutes`: how long what takes long takes; 0 = short. */
export type Rounds<K> = (
  kind: K,
  count: number,
  seed: number,
  tell: (line: string) => void,
  minutes: number,
) => Promise<void>

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** `--rounds N --seed N --kind KIND[,KIND] --together N --minutes N`: so many kinds side by side. */
export async function runRounds<K extends string>(kinds: readonly K[], rounds: Rounds<K>): Promise<void> {
  const { values } = parseArgs({
    options: {
      kind: { type: 'string' },
      minutes: { default: '0', type: 'string' },
      rounds: { default: '20', type: 'string' },
      seed: { type: 'string' },
      together: { default: '8', type: 'string' },
    },
  })
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1e6))
  const wanted = kinds.filter((kind) => values.kind === undefined || values.kind.split(',').includes(kind))
  const waiting = [...wanted]
  const failures: Error[] = []
  const worker = async () => {
    for (let kind = waiting.shift(); kind !== undefined; kind = waiting.shift())
      await rounds(kind, Number(values.rounds), seed, say, Number(values.minutes)).catch((e: Error) => {
        failures.push(e)
        // At once: the others may go on for hours.
        say(`FAILED ${e.message}\n${e.stack}`)
      })
  }
  await Promise.all(Array.from({ length: Number(values.together) }, worker))
  say(`${wanted.length} kinds x ${values.rounds} rounds, seed ${seed}: ${failures.length} kinds failed`)
  process.exitCode = failures.length > 0 ? 1 : 0
}
