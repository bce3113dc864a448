import * as fs from 'node:fs'
import * as path from 'node:path'
import { bytesOf, type Load, load } from './load.ts'
import { inTurn, median, quantile, type Row } from './measure.ts'
import { listening, stayOn } from './programs.ts'
import { beatOf, type Enrolled, enroll, fleet, type Place } from './world.ts'

const IN_FLIGHT = 32
const ROUNDS = 5
const SECONDS = 3

export const beats = (nodes: readonly Enrolled[]): Buffer[] =>
  nodes.map(({ id, token }, i) =>
    bytesOf({ method: 'POST', path: `/api/v1/nodes/${id}/heartbeat`, token, body: beatOf(i + 1) }),
  )

/** The real pipeline against bare node:http with one INSERT: the same bytes, the same generator, the same core. */
export async function heartbeat(place: Place): Promise<Row[]> {
  stayOn(1)
  const world = await fleet(place, 0)
  const file = path.join(fs.mkdtempSync(path.join(place.dir, 'bare-')), 'bare.db')
  const program = { program: process.execPath, args: [path.join(import.meta.dirname, 'bare.ts'), file], core: 0 }
  const bare = await listening(program, path.dirname(file))
  try {
    const requests = beats(await enroll(world, IN_FLIGHT))
    const on = (url: string) => (): Promise<Load> => load(url, requests, SECONDS)
    await inTurn(1, on(bare.url), on(world.controller.url)) // warm
    const [theirs, ours] = await inTurn(ROUNDS, on(bare.url), on(world.controller.url))
    return rows(theirs, ours)
  } finally {
    await world.controller.stop()
    await bare.stop()
    stayOn('any')
  }
}

function rows(theirs: Load[], ours: Load[]): Row[] {
  const rates = (loads: Load[]) => loads.map((one) => one.perSecond)
  const [bare, mine] = [median(rates(theirs)), median(rates(ours))]
  const pairs = ours.map((one, i) => one.perSecond / (theirs[i] as Load).perSecond)
  const p99 = median(ours.map((one) => quantile(one.latencies, 0.99)))
  return [
    {
      name: 'heartbeat',
      measured: median(pairs),
      limit: 0.4,
      unit: 'of bare',
      bound: 'least',
      how: `${mine.toFixed(0)}/s against ${bare.toFixed(0)}/s of node:http + INSERT, ${IN_FLIGHT} in flight, one core, p99 ${p99.toFixed(1)} ms; pairs ${pairs.map((p) => p.toFixed(2)).join(' ')}`,
    },
  ]
}
