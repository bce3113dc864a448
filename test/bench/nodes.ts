import { bytesOf, load } from './load.ts'
import { median, type Row } from './measure.ts'
import { stayOn } from './programs.ts'
import { enroll, fleet, type Place } from './world.ts'

const NODES = 100
const IN_FLIGHT = 32
const ROUNDS = 5
const SECONDS = 2

/** GET /nodes of a hundred nodes, the controller on one core. */
export async function nodesList(place: Place): Promise<Row[]> {
  stayOn(1)
  const world = await fleet(place, 0)
  try {
    await enroll(world, NODES)
    const rate = async (path: string): Promise<number> => {
      const request = bytesOf({ method: 'GET', path, token: world.token })
      const round = () => load(world.controller.url, Array(IN_FLIGHT).fill(request), SECONDS)
      await round() // warm
      const rates: number[] = []
      for (let i = 0; i < ROUNDS; i++) rates.push((await round()).perSecond)
      return median(rates)
    }
    const common = { unit: 'req/s', bound: 'least' } as const
    return [
      {
        ...common,
        name: 'nodes-list',
        measured: await rate('/api/v1/nodes'),
        limit: 1000,
        how: `default page of 50, ${NODES} nodes, one core`,
      },
      {
        ...common,
        name: 'nodes-list limit=100',
        measured: await rate('/api/v1/nodes?limit=100'),
        how: 'the whole fleet in one page',
      },
    ]
  } finally {
    await world.controller.stop()
    stayOn('any')
  }
}
