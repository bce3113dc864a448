// What the console tells of refusals: German sentences for those a person can meet, words of its own for what schemas find.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import * as z from 'zod'
import { ApiError, type Issue } from '../../src/console/data/api.ts'
import { faultText, issueText } from '../../src/console/ui/fault.rules.ts'
import { de } from '../../src/console/words/de.ts'
import { en } from '../../src/console/words/en.ts'
import { sources } from '../conventions/source.ts'

const PAGE = readFileSync(path.resolve(import.meta.dirname, '../../docs/reasons.md'), 'utf8')
const ROW = /^\| `([\w<>]+)` \| ([^|]+) \|.*\| ([^|]+) \|$/gm
const FOR_PEOPLE = /^(400|403|409|413|422|503|507)$/
const MACHINES = /^(agentapi|fleet\/releases|lifecycle)$/
/** Of machines, commands at a terminal and starts; told by their permission, their words or their issues; made by no page. */
const ELSEWHERE = new Set(
  `access_policy_denied ambiguous_credentials cannot_listen certificate_unusable chunk_set_closed data_directory_in_use
  invalid_chunk_index invalid_note invalid_request job_not_claimable job_not_heartbeatable local_admin_not_local missing_permission
  node_scope_denied not_local oidc_email_conflict oidc_state_invalid recording_deleted runner_token_unconfigured session_required
  user_disabled wrong_password`.split(/\s+/),
)

test('each refusal that a page can meet has a German sentence, and no sentence is left over', () => {
  const rows = [...PAGE.matchAll(ROW)].map(([, reason = '', status = '', parts = '']) => ({ parts, reason, status }))
  const met = rows
    .filter(
      ({ parts, reason, status }) =>
        FOR_PEOPLE.test(status) && !ELSEWHERE.has(reason) && !parts.split(', ').every((part) => MACHINES.test(part)),
    )
    .map(({ reason }) => reason)
  assert.deepEqual(
    met.filter((reason) => de.refusals.reasons[reason] === undefined),
    [],
  )
  const made = /^(self_(delete|disable)|local_admin_(access|delete|disable|password))_denied$/
  const known = new Set(rows.map(({ reason }) => reason))
  assert.deepEqual(
    Object.keys(de.refusals.reasons).filter((reason) => !known.has(reason) && !made.test(reason)),
    [],
  )
})

test('what the server says without a reason is known by its very words', () => {
  const texts = sources(['src/controller', 'src/wire'])
    .map(({ text }) => text)
    .join('\n')
  assert.deepEqual(
    Object.keys(de.refusals.said).filter((words) => !texts.includes(`'${words}'`)),
    [],
  )
})

const Form = z.strictObject({
  amount: z.number().gt(0),
  at: z.string().regex(/^\d\d:\d\d$/, 'expected a time from 00:00 to 23:59'),
  count: z.int().min(1),
  email: z.email(),
  kind: z.enum(['a', 'b']),
  list: z.array(z.string()).max(2),
  name: z.string().min(1),
  password: z.string().min(8),
  port: z.number().max(65_535),
  title: z.string().max(1200),
})

test('what a schema finds is told in words, with its numbers', () => {
  const wrong = {
    amount: 0,
    at: '9',
    count: 1.5,
    email: 'ann',
    extra: 1,
    kind: 'c',
    list: ['', '', ''],
    name: '',
    password: 'x',
    port: 70_000,
  }
  const { issues } = Form.safeParse({ ...wrong, title: 'x'.repeat(1201) }).error as z.ZodError
  const told = (words: typeof en) =>
    Object.fromEntries(issues.map((issue) => [issue.path.join('.'), issueText(issue as unknown as Issue, words)]))
  assert.deepEqual(told(de), {
    '': 'Das kennt die Zentrale nicht: extra.',
    amount: 'Mehr als 0.',
    at: 'Eine Uhrzeit von 00:00 bis 23:59 ist nötig.',
    count: 'Eine ganze Zahl ist nötig.',
    email: 'Das ist keine E-Mail-Adresse.',
    kind: 'Das kann man hier nicht wählen.',
    list: 'Das sind zu viele: höchstens 2.',
    name: 'Pflichtfeld.',
    password: 'Das ist zu kurz: mindestens 8 Zeichen.',
    port: 'Höchstens 65.535.',
    title: 'Das ist zu lang: höchstens 1.200 Zeichen.',
  })
  assert.equal(told(en).at, 'expected a time from 00:00 to 23:59', 'the server has said it in English')
  const [missing] = Form.safeParse({}).error?.issues ?? []
  assert.equal(issueText(missing as unknown as Issue, en), 'Required.')
})

test('a refusal is told by its reason, its words, its first issue, or as the server tells it', () => {
  const refused = (status: number, body: object) => faultText(new ApiError(status, body, 0), de)
  assert.equal(refused(409, { error: 'Schedules record here', reason: 'room_in_use' }), de.refusals.reasons.room_in_use)
  assert.equal(refused(403, { error: 'The current password is wrong' }), 'Das aktuelle Passwort ist falsch.')
  assert.match(refused(403, { error: 'Forbidden', permission: 'node:manage' }), /node:manage/)
  const scope = {
    message: 'This place is not in your scope',
    permission: 'node:read',
    reason: 'missing_resource_scope',
  }
  assert.equal(refused(403, scope), de.refusals.reasons.missing_resource_scope)
  const issue = { code: 'invalid_format', format: 'email', message: 'Invalid email address', path: ['email'] }
  assert.equal(
    refused(400, { error: 'Invalid request: email: Invalid email address', issues: [issue] }),
    'email: Das ist keine E-Mail-Adresse.',
  )
  const why = { code: 'custom', message: 'expected a time to come', path: ['expiresAt'] }
  const late = new ApiError(400, { error: 'The link would have expired already', issues: [why] }, 0)
  assert.equal(faultText(late, en), 'The link would have expired already: expected a time to come')
  assert.equal(refused(418, { error: 'No coffee' }), 'No coffee')
  assert.equal(faultText(new TypeError('fetch'), de), de.failures.offline)
})
