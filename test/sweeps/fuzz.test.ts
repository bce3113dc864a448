// Anything at all, thrown at every route: answers are answers, never a 5xx, and the controller goes on.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { AnyRoute } from '../../src/controller/http/route.ts'
import { seed } from '../conventions/world.ts'
import { type Answer, type Kit, kit } from '../kit/kit.ts'
import { shareOf, TURN } from '../kit/turn.ts'
import { type Dice, dice, inWords, RARE, RUNNER, requestFor } from './fuzz.ts'
import { peerless } from './sweep.ts'

/** `FUZZ_REQUESTS=20000 FUZZ_SEED=7 scripts/node --test test/sweeps/fuzz.test.ts` */
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? shareOf(20_000))
const SEED = Number(process.env.FUZZ_SEED ?? 20_26 + TURN)
/** A world in which this many requests have raged is replaced. */
const WORLD = 1000

const worlds: Kit[] = []
after(() => Promise.all(worlds.map((k) => k.close())))

function world(): Kit {
  const k = kit({
    env: { SVC_LOGIN_FAILURE_LIMIT: '1000000', SVC_RUNNER_TOKEN: RUNNER, SVC_TOKEN_FAILURE_LIMIT: '1000000' },
  })
  worlds.push(k)
  seed(k)
  k.as('owner')
  k.as('viewer')
  k.as('auditor')
  k.person('scoped', ['operator'], [['room', 'hall']])
  return k
}

async function send(k: Kit, d: Dice, r: AnyRoute): Promise<{ answer: Answer; told: string }> {
  const made = requestFor(d, r)
  const { body, headers, method, path, token } = made
  return { answer: await k.bearer(token).send(method, path, body, headers), told: inWords(made) }
}

test(`${REQUESTS} requests of any kind: no 5xx`, async () => {
  const d = dice(SEED)
  const wrong: string[] = []
  const seen = new Map<number, number>()
  let k = world()
  for (let n = 0; n < REQUESTS && wrong.length < 20; n++) {
    if (n > 0 && n % WORLD === 0) k = world()
    // Whoever was logged out or locked out by a lucky request goes on.
    if (n % 20 === 0) k.sql('UPDATE sessions SET revoked_at = NULL WHERE revoked_at IS NOT NULL')
    if (n % 20 === 0) k.sql(`DELETE FROM access_policies`)
    const r = d.of(k.routes)
    if (RARE.test(r.path) && !d.chance(0.1)) continue
    const { answer, told } = await send(k, d, r)
    seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
    if (answer.status >= 500 && !peerless(r, answer.status))
      wrong.push(`${answer.status} ${told} -> ${answer.text.slice(0, 200)} ${k.logged.at(-1)?.slice(0, 600)}`)
  }
  console.log(`answers by status: ${JSON.stringify(Object.fromEntries([...seen].sort()))}`)
  assert.deepEqual(wrong, [])
  assert.ok((seen.get(200) ?? 0) > REQUESTS / 50, 'some of it is right')
})
