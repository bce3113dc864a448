import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PathClaims } from '../../../src/controller/http/claims.ts'
import { scratchDir } from '../../kit/scratch.ts'

const NONE: ReadonlySet<string> = new Set()

function stored(...names: string[]) {
  const dir = scratchDir('roomtone-claims-')
  for (const name of names) writeFileSync(join(dir, name), name)
  return { claims: new PathClaims(dir), has: (name: string) => existsSync(join(dir, name)) }
}

test('nobody stores a file where one is about to be removed', async () => {
  const { claims, has } = stored('a')
  await claims.removing(async (discard) => {
    discard(['a'])
    assert.equal(claims.claim(['a', 'b'], NONE), 'b')
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(has('a'), true, 'rows first, then files')
  })
  assert.equal(has('a'), false)
  assert.equal(claims.claim(['a'], NONE), 'a', 'free again')
})

test('a file that is being stored is left to who stores it', async () => {
  const { claims, has } = stored('a')
  claims.claim(['a'], NONE)
  await claims.removing((discard) => discard(['a']))
  assert.equal(has('a'), true)
  assert.throws(() => claims.claim(['a'], NONE), /no free name/)
})

test('a transaction that fails removes nothing and frees what it discarded', async () => {
  const { claims, has } = stored('a')
  const failing = claims.removing((discard) => {
    discard(['a'])
    throw new Error('the disk is full')
  })
  await assert.rejects(failing, /the disk is full/)
  assert.equal(has('a'), true)
  assert.equal(claims.claim(['a'], NONE), 'a')
})
