// What is made from the code is up to date: docs/ and openapi.json.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as path from 'node:path'
import { after, test } from 'node:test'
import * as z from 'zod'
import { written } from '../../src/controller/http/apidocs/shapes.rules.ts'
import { schemaOf } from '../../src/controller/http/openapi.ts'
import { kit } from '../kit/kit.ts'
import { answerOf, keyOf } from './api.shapes.ts'
import { ROOT } from './compiler.ts'
import { codeOf, renewed } from './docs.ts'

const k = kit()
const code = codeOf(k)
after(() => k.close())
const onDisk = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')

test('what is made from the code is up to date (scripts/node test/conventions/docs.update.ts makes it anew)', () => {
  for (const [file, text] of renewed(code, onDisk))
    assert.ok(onDisk(file) === text, `${file} is out of date: run scripts/node test/conventions/docs.update.ts`)
})

test('the answer of every route is known from its type', () => {
  const { answers } = code
  const shapeless = k.routes.filter((r) => /^\{? ?data: (unknown|any)\b|^$/.test(answerOf(r, answers) ?? ''))
  assert.deepEqual(shapeless.map(keyOf), [])
  assert.equal(
    answerOf(k.routes.find((r) => keyOf(r) === 'POST /recordings user')!, answers),
    '{ data: Recording; job: Job }',
  )
  assert.match(
    answers.types.get('Recording') ?? '',
    /^interface Recording \{\n {2}cached: boolean\n {2}cachePath\?: string\n/,
  )
})

test('a schema is written as what a caller may send', () => {
  const body = z.strictObject({
    codec: z.enum(['mp3', 'wav']).default('mp3'),
    ids: z.array(z.string().min(1).max(9)).max(3),
    more: z.union([z.object({ a: z.number() }), z.null()]).optional(),
    seconds: z.number().int().min(1).max(60).nullable(),
  })
  assert.equal(
    written(schemaOf(body)),
    [
      '{',
      "  codec?: 'mp3' | 'wav' // default 'mp3'",
      '  ids: string[] // at most 3 items',
      '  more?: { a: number } | null',
      '  seconds: number | null // whole, 1 to 60',
      '}',
    ].join('\n'),
  )
})
