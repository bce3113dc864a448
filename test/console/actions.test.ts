// Every action that the audit log can hold is told in words, and no word is left over.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { actionText, actorText } from '../../src/console/audit/action.rules.ts'
import { de } from '../../src/console/words/de.ts'
import { en } from '../../src/console/words/en.ts'

const PAGE = readFileSync(path.resolve(import.meta.dirname, '../../docs/audit.md'), 'utf8')
const rows = PAGE.split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split(' | ').map((cell) => [...cell.matchAll(/`([\w.-]+)`/g)].map(([, name = '']) => name)))
/** The first cell of each row, and other names of its outcome in the last. */
const actions = rows.flatMap((cells) => [...(cells[0] ?? []), ...(cells[4] ?? [])])

test('each action is told in words, by itself and with its outcome', () => {
  assert.ok(actions.length > 250)
  const ended = rows
    .filter((cells) => cells.length > 2)
    .flatMap(([first = []]) => first.flatMap((name) => [`${name}.succeeded`, `${name}.failed`]))
  for (const words of [en, de])
    assert.deepEqual(
      [...actions, ...ended].filter((action) => actionText(action, words) === action),
      [],
    )
})

test('an action is told by its longest beginning; what nobody has words for keeps its code', () => {
  assert.equal(actionText('recordings.metadata.update.succeeded', en), 'Details of a take: change')
  assert.equal(actionText('auth.users.detail.read', de), 'Personen: eines ansehen')
  assert.equal(actionText('health.watchdog.clipping.created', en), 'A recording clips: open an alert')
  assert.equal(actionText('nodes.lifecycle.smoke_check.running', de), `Rekorder: ${de.recorders.actions.smoke_check}`)
  assert.equal(actionText('doors.open', en), 'doors.open')
})

test('who pressed the button behind the link in a message is told by the channel it reached', () => {
  const actor = { id: 'notification_rule', name: 'Phones', roles: [], type: 'system' as const }
  assert.equal(actorText(actor, en), 'link in a message to the channel Phones')
  assert.equal(actorText(actor, de), 'Link in einer Meldung an den Kanal Phones')
  assert.equal(actorText({ ...actor, id: 'user-1', name: 'Ann' }, en), 'Ann')
})

test('no word is left over', () => {
  for (const words of [en, de]) {
    const told = new Set(actions.map((action) => actionText(action, words)))
    const unused = (table: Record<string, string>, has: (text: string, word: string) => boolean) =>
      Object.entries(table).filter(([, word]) => ![...told].some((text) => has(text, word)))
    assert.deepEqual(
      unused(words.actions.areas, (text, word) => text.startsWith(`${word}: `)),
      [],
    )
    assert.deepEqual(
      unused(words.actions.deeds, (text, word) => text.endsWith(`: ${word}`)),
      [],
    )
  }
})
