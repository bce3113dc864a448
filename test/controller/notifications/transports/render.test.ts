import assert from 'node:assert/strict'
import { test } from 'node:test'
import { htmlOf, shortText, textOf, titleOf } from '../../../../src/controller/notifications/transports/render.rules.ts'
import { HOSTILE, message } from './message.ts'

const hostile = (name: string) =>
  message({ acknowledgeUrl: name, facts: [[name, name]], paragraphs: [name], title: name, url: name })

test('the text reads like a letter', () => {
  assert.equal(
    textOf(message()),
    `Aula 3: the microphone is silent
[Critical]

For 2 minutes no sound has come from channel 1 (lectern) while a recording runs.

Check that the microphone is switched on and that its cable is in the recorder.

Room:      Aula 3, North campus
Recorder:  rt-aula-3
Recording: Introduction to Acoustics, 26 November
Since:     26 November 2026, 07:28

Open in the console:
https://roomtone.example.org/alerts/0196a3c4?from=mail&at=1

Acknowledge (opens a page with one button):
https://roomtone.example.org/a/4f9d2c8b7a6e5d4c3b2a190817263544

-- 
Sent automatically by Roomtone. Replies to this address are not read.
`,
  )
})

test('what there is nothing of leaves no hole', () => {
  const bare = message({
    acknowledgeUrl: undefined,
    facts: [],
    kind: 'test',
    paragraphs: [],
    title: '',
    url: undefined,
  })
  assert.equal(
    textOf(bare),
    'Notification\n[Test]\n\n-- \nSent automatically by Roomtone. Replies to this address are not read.\n',
  )
  assert.doesNotMatch(htmlOf(bare), /<table|<a /)
  assert.equal(shortText(bare, 100), 'Test')
})

test('each kind says what it is', () => {
  const states = (['event', 'resolved', 'escalation', 'report', 'digest', 'test'] as const).map(
    (kind) => /\[(.*)\]/.exec(textOf(message({ kind, severity: 'warning' })))?.[1],
  )
  assert.deepEqual(states, [
    'Warning',
    'Resolved',
    'Warning, escalated',
    'Daily report',
    'Summary, up to warning',
    'Test',
  ])
})

test('names of any kind stay on their line', () => {
  const lines = textOf(hostile('Aula')).split('\n').length
  for (const name of HOSTILE) {
    const text = textOf(hostile(name))
    assert.equal(text.split('\n').length, lines, JSON.stringify(name.slice(0, 40)))
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u)
    assert.ok(text.isWellFormed())
  }
})

test('names of any kind are no markup, and no address is one that does something', () => {
  const tags = (html: string) => html.match(/<[^>]*>/g)
  const plain = tags(htmlOf(hostile('Aula')))
  for (const name of [...HOSTILE, 'javascript:alert(1)', 'data:text/html,x'])
    assert.deepEqual(tags(htmlOf(hostile(name))), plain, name.slice(0, 40))
  assert.match(htmlOf(message({ url: 'https:"onclick=x' })), /<a href="https:\/\/&quot;onclick=x\/" style=/)
  const odd = htmlOf(message({ url: 'https://a.example/"><img src=x>&\'' }))
  assert.match(odd, /href="https:\/\/a\.example\/%22%3E%3Cimg%20src=x%3E&amp;&#39;"/)
})

test('nothing is loaded from anywhere', () => {
  const html = htmlOf(message())
  assert.doesNotMatch(html, /<(img|link|script|iframe|object|style)|url\(|src=|@import/i)
  const addresses = [...html.matchAll(/https?:\/\/[^"]*/g)].map(([address]) => address.replaceAll('&amp;', '&'))
  assert.deepEqual(addresses, [message().url, message().acknowledgeUrl])
})

test('texts have an end, of whole characters', () => {
  const long = message({
    facts: Array.from({ length: 500 }, (): [string, string] => ['l'.repeat(9_999), 'v'.repeat(9_999)]),
    paragraphs: Array(500).fill('p '.repeat(5_000)),
    title: '😀'.repeat(5_000),
  })
  assert.ok(textOf(long).length < 120_000)
  assert.ok(htmlOf(long).length < 150_000)
  assert.match(textOf(long), /\nand 460 more\n/)
  assert.match(titleOf(long), /^(😀){74}…$/u)
  for (const bytes of [100, 101, 102, 103]) {
    const short = shortText({ ...long, paragraphs: ['ä😀'.repeat(999)] }, bytes)
    assert.ok(Buffer.byteLength(short) <= bytes && short.isWellFormed() && short.endsWith('…'), short)
  }
})
