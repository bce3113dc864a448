import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limiter } from '../../../../src/controller/http/limiter.ts'
import type { Commit } from '../../../../src/controller/http/route.ts'
import { userStore } from '../../../../src/controller/identity/access/users.store.ts'
import { fairSemaphore } from '../../../../src/controller/identity/auth/fairsemaphore.ts'
import { type LoginParts, signIn } from '../../../../src/controller/identity/auth/login.ts'
import { sessionStore } from '../../../../src/controller/identity/auth/sessions.store.ts'
import { DECOY_HASH, hashPassword, verifyPassword } from '../../../../src/crypto/password.ts'
import { Fail } from '../../../../src/kernel/fail.ts'
import { kit } from '../../../kit/kit.ts'

const HASH = await hashPassword('right')
const FROM = { overHttps: false, address: '192.0.2.1', byCookie: false, network: '192.0.2.1' }
const commit: Commit = async (write) => write('2026-03-02T09:00:00.000Z')

function parts(more: Partial<LoginParts> = {}) {
  const k = kit()
  for (const name of ['ann', 'bob', 'eve']) k.person(name, ['viewer'])
  k.sql("UPDATE users SET password_hash = ? WHERE id <> 'bob'", HASH)
  k.sql("UPDATE users SET disabled_at = '2026-01-01T00:00:00.000Z' WHERE id = 'eve'")
  const verified: string[] = []
  const all: LoginParts = {
    accounts: limiter(5, 60),
    addresses: limiter(100, 60),
    clock: k.pipeline.clock,
    cookie: k.pipeline.cookie,
    ids: { make: (kind) => `${kind}_1`, uuid: () => 'new-session' },
    sessions: sessionStore(k.db),
    turns: fairSemaphore({ maxWaiting: 100, maxWaitingPerCaller: 8, concurrency: 2 }),
    users: userStore(k.db),
    verify: (password, stored) => {
      verified.push(stored)
      return verifyPassword(password, stored)
    },
    ...more,
  }
  const attempt = (email: string, password: string) =>
    signIn(all)({ ...FROM, email: `${email}@example.org`, password, userAgent: undefined }, commit)
  return { k, all, attempt, verified }
}

test('exactly one scrypt per attempt, whoever is named: a decoy where there is nothing to verify', async () => {
  const { k, attempt, verified } = parts()
  await attempt('ann', 'right')
  for (const [name, password] of [
    ['ann', 'wrong'],
    ['nobody', 'right'],
    ['bob', 'right'],
    ['eve', 'right'],
  ] as const)
    await assert.rejects(attempt(name, password), { status: 401 })
  assert.deepEqual(verified, [HASH, HASH, DECOY_HASH, DECOY_HASH, DECOY_HASH])
  await k.close()
})

test('a blocked account costs no scrypt', async () => {
  const { k, all, attempt, verified } = parts()
  for (let n = 0; n < 5; n++) all.accounts.count('ann@example.org', all.clock.monotonic())
  await assert.rejects(attempt('ann', 'right'), { status: 429, reason: 'rate_limited' })
  assert.deepEqual(verified, [])
  await k.close()
})

test('an address that fails everywhere is blocked, other addresses are not', async () => {
  const { k, all, attempt } = parts()
  for (let n = 0; n < 100; n++) all.addresses.count('192.0.2.1', all.clock.monotonic())
  await assert.rejects(attempt('ann', 'right'), { status: 429 })
  const elsewhere = {
    overHttps: false,
    address: '192.0.2.2',
    byCookie: false,
    network: '192.0.2.2',
    email: 'ann@example.org',
    password: 'right',
    userAgent: undefined,
  }
  assert.equal((await signIn(all)(elsewhere, commit)).data.user.id, 'ann')
  await k.close()
})

test('a right password counts for nothing when the session cannot be written', async () => {
  const { k, all } = parts({ accounts: limiter(1, 60) })
  const away: Commit = async () => {
    throw new Fail(503, 'database_unavailable', 'away')
  }
  const attempt = { ...FROM, email: 'ann@example.org', password: 'right', userAgent: undefined }
  await assert.rejects(signIn(all)(attempt, away), { status: 503 })
  assert.equal((await signIn(all)(attempt, commit)).data.user.id, 'ann')
  await k.close()
})

test('no session is opened when the account changes while its password is verified', async () => {
  for (const change of [
    "UPDATE users SET disabled_at = '2026-01-01T00:00:00.000Z'",
    "UPDATE users SET password_hash = 'x'",
  ]) {
    const { k, attempt } = parts({
      verify: (password, stored) => {
        k.sql(`${change} WHERE id = 'ann'`)
        return verifyPassword(password, stored)
      },
    })
    await assert.rejects(attempt('ann', 'right'), { status: 401, reason: 'invalid_credentials' })
    assert.equal(k.rows("SELECT 1 FROM sessions WHERE id = 'new-session'").length, 0)
    await k.close()
  }
})

test('a login whose answer was never delivered leaves no session', async () => {
  const { k, attempt } = parts()
  const done = await attempt('ann', 'right')
  done.undelivered?.()
  assert.equal((await k.bearer(done.data.token).get('/auth/me')).status, 401)
  await k.close()
})

test('work waits for its turn; a line that is too long is turned away', async () => {
  const lines = fairSemaphore({ maxWaiting: 9, maxWaitingPerCaller: 1, concurrency: 1 })
  const inTurn = <T>(work: () => Promise<T>) => lines('a', work)
  let release = () => {}
  const first = inTurn(() => new Promise<void>((resolve) => (release = resolve)))
  const order: string[] = []
  const second = inTurn(async () => void order.push('second'))
  await assert.rejects(
    inTurn(async () => undefined),
    { status: 429, reason: 'rate_limited' },
  )
  order.push('first')
  release()
  await Promise.all([first, second])
  assert.deepEqual(order, ['first', 'second'])
  await assert.rejects(
    inTurn(async () => Promise.reject(new Error('boom'))),
    /boom/,
  )
  assert.equal(await inTurn(async () => 'free again'), 'free again')
})

test('a burst of guesses is counted before it is hashed: no more is hashed than the limit allows', async () => {
  const { k, attempt, verified } = parts()
  const burst = await Promise.allSettled(Array.from({ length: 60 }, () => attempt('ann', 'wrong')))
  assert.equal(verified.length, 5)
  const statuses = burst.map((one) => (one as PromiseRejectedResult).reason.status)
  assert.equal(statuses.filter((status) => status === 401).length, 5)
  assert.equal(statuses.filter((status) => status === 429).length, 55)
  await k.close()
})

test('of one address so many wait, and another address is not behind them', async () => {
  const order: string[] = []
  const releases: (() => void)[] = []
  const { k, all, verified } = parts({
    accounts: limiter(1000, 60),
    addresses: limiter(1000, 60),
    verify: async (password, stored) => {
      order.push(password)
      await new Promise<void>((resolve) => releases.push(resolve))
      return verifyPassword(password, stored)
    },
  })
  assert.equal(verified.length, 0)
  const from = (address: string, email: string, password: string) =>
    signIn(all)(
      { address, byCookie: false, email, network: address, overHttps: false, password, userAgent: undefined },
      commit,
    )
  const burst = Array.from({ length: 30 }, (_, n) => from('192.0.2.1', `guess${n}@example.org`, 'wrong'))
  const ended = Promise.allSettled(burst)
  const right = from('192.0.2.9', 'ann@example.org', 'right')
  let signedIn = false
  void right.then(() => {
    signedIn = true
  })
  while (!signedIn) {
    releases.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  // Two were at work when it came, one more of the others may have had its turn before.
  assert.ok(order.indexOf('right') <= 3, order.join())
  let pending = true
  void ended.then(() => {
    pending = false
  })
  while (pending) {
    releases.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const statuses = (await ended).map((one) => (one as PromiseRejectedResult).reason.status)
  // Two at work, eight waiting.
  assert.equal(statuses.filter((status) => status === 401).length, 10)
  assert.equal(statuses.filter((status) => status === 429).length, 20)
  await k.close()
})

test('right passwords leave no trace in the counts, however many come at once', async () => {
  const { k, all, attempt } = parts()
  for (let n = 0; n < 20; n++) {
    k.sql("DELETE FROM sessions WHERE id = 'new-session'")
    await attempt('ann', 'right')
  }
  assert.equal(all.accounts.blocked('ann@example.org', all.clock.monotonic()), undefined)
  await k.close()
})

test('expired sessions are swept, living ones stay', async () => {
  const { k, all, attempt } = parts()
  const { data } = await attempt('ann', 'right')
  assert.equal(all.sessions.sweep(data.expiresAt.replace('21:00', '20:59')), 0)
  assert.equal(all.sessions.sweep(data.expiresAt), 1)
  await k.close()
})
