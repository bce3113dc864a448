import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type * as z from 'zod'
import { kit } from '../kit/kit.ts'

const k = kit()
after(() => k.close())

/** What may have several lines: text for people to read, secrets, and what is kept as it came. Everything else is one line. */
const SEVERAL_LINES = new Set([
  'currentPassword',
  'description',
  'fix',
  'newPassword',
  'note',
  'notes',
  'password',
  'privateKey',
  'reason',
  's3SecretAccessKey',
  'secret',
  'smbPassword',
  'snapshot',
  'transcriptSnippets[]',
])

interface Leaf {
  name: string
  /** As the field is read, with what wraps the text. */
  schema: z.ZodType
}

// biome-ignore lint/suspicious/noExplicitAny: schemas are walked by what they say of themselves
const defOf = (schema: z.ZodType): any => schema._zod.def

/** Every text in a schema, by the name of its field. */
function* leaves(schema: z.ZodType, name: string): Iterable<Leaf> {
  const def = defOf(schema)
  if (def.type === 'string') yield { name, schema }
  for (const [key, inner] of Object.entries<z.ZodType>(def.shape ?? {})) yield* leaves(inner, key)
  if (def.element) yield* leaves(def.element, `${name}[]`)
  for (const inner of [def.innerType, def.valueType, def.in, def.out, ...(def.options ?? [])])
    if (inner) yield* leaves(inner, name)
}

const bodies = k.routes.filter((r) => r.body)
const texts = bodies.flatMap((r) => [...leaves(r.body as z.ZodType, '')].map((leaf) => ({ ...leaf, r })))

const BREAKS = ['\n', '\r', '\t', '\u0000', '\u001b', '\u007f', '\u0085', '\u2028', '\u2029']
const kept = (schema: z.ZodType, value: string): boolean => {
  const { data, success } = schema.safeParse(value)
  return success && typeof data === 'string' && BREAKS.some((one) => data.includes(one))
}

test('a text in a body has no line break and no control character, but for what people write in paragraphs', () => {
  assert.ok(texts.length > 150, `only ${texts.length} texts were found`)
  const wrong = texts
    .filter(({ name }) => !SEVERAL_LINES.has(name))
    .filter(({ schema }) => BREAKS.some((one) => kept(schema, `ab${one}cd`)))
    .map(({ name, r }) => `${r.method} ${r.path} ${name}`)
  assert.deepEqual([...new Set(wrong)], [])
})

test('what may have several lines takes them', () => {
  const notes = texts.filter(({ name }) => ['note', 'notes', 'description'].includes(name))
  assert.ok(notes.length > 5)
  assert.deepEqual(
    notes.filter(({ schema }) => !schema.safeParse('first\nsecond').success).map(({ r }) => r.path),
    [],
  )
})

test('a name with a line break is refused, from hardware it is replaced', async () => {
  const admin = k.as('admin')
  const refused = await admin.post('/rooms', { name: 'Hall\nGuilty: root', site: 'North' })
  assert.equal(refused.status, 400)
  const { agent, id } = await k.enroll()
  const reported = {
    interfaces: [
      { alias: 'Desk\nMic', channelCount: 1, channels: [{ alias: 'In\u00851', index: 1 }], systemName: 'USB\r\nMic' },
    ],
  }
  const { json, status } = await agent.post(`/nodes/${id}/inventory`, reported)
  assert.equal(status, 202)
  const found = json.data.node.interfaces.find((one: { systemName: string }) => one.systemName === 'USB  Mic')
  assert.equal(found.alias, 'Desk Mic')
  assert.equal(found.channels[0].alias, 'In 1')
  const event = { severity: 'warning', type: 'agent.x\nroot: logged in' }
  assert.equal((await agent.post(`/nodes/${id}/health-events`, event)).status, 400)
})
