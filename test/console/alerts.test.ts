// Every kind of health event that the sources can open has a sentence in each language.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type CallExpression,
  type Expression,
  type Node,
  SyntaxKind,
  type TemplateExpression,
} from 'typescript/unstable/ast'
import type { Checker } from 'typescript/unstable/sync'
import { alert as alertInGerman, ALERTS as german } from '../../src/wire/alerts.de.ts'
import { alert as alertInEnglish, ALERTS as english } from '../../src/wire/alerts.en.ts'
import { inProject, literalsOf, nodesIn, sourcesOf, textsOf } from '../conventions/compiler.ts'

const TEXTS = new Set([SyntaxKind.StringLiteral, SyntaxKind.NoSubstitutionTemplateLiteral])
const TYPE =
  /^(agent\.|controller\.(recording\.|notification_)|schedule\.(capture|no)_|switcher\.|foresight\.|watchdog\.|recording\.remote_)[a-z._]*[a-z]$/
/** What the agent tells of a take, without the beginning that all of them have. */
const NEWS = /^[a-z]+(_[a-z]+)+$/

function typesIn(checker: Checker, source: Node): string[] {
  return [...nodesIn(source)].flatMap((node) => {
    if (node.kind === SyntaxKind.CallExpression) return toldBy(checker, node as CallExpression)
    const begins = node.kind === SyntaxKind.TemplateExpression ? (node as TemplateExpression).head.text : ''
    return TEXTS.has(node.kind) || /^(agent|controller|foresight|watchdog)\./.test(begins)
      ? textsOf(checker, node as Expression)
      : []
  })
}

/** `tell` and `told` are given the name of the news; `run` of the exchanges the topic that fails or recovers. */
function toldBy(checker: Checker, { arguments: args, expression }: CallExpression): string[] {
  const called = /(?:\b|#)(tell|told|exchanges\.run)$/i.exec(expression.getText())?.[1]
  if (!called) return []
  const texts = args.flatMap((arg) => literalsOf(checker.getTypeAtLocation(arg)) ?? [])
  return called.endsWith('run')
    ? ['failed', 'recovered'].map((end) => `agent.${texts[0]}.sync_${end}`)
    : texts.filter((text) => NEWS.test(text)).map((text) => `agent.recording_job.${text}`)
}

test('every kind of alert has a sentence in each language', () => {
  const types = inProject((project) =>
    sourcesOf(project, 'src')
      .filter(({ file }) => /^src\/(agent|controller)\//.test(file))
      .flatMap(({ source }) => typesIn(project.checker, source)),
  )
  const kinds = [...new Set(types.filter((type) => TYPE.test(type)))].sort()
  for (const [alerts, alert] of [
    [english, alertInEnglish],
    [german, alertInGerman],
  ] as const) {
    assert.deepEqual(Object.keys(alerts).sort(), kinds)
    assert.equal(alert('agent.started'), alerts['agent.started'])
    assert.equal(alert('door.left_open'), 'door left open', 'what nobody has words for is told by its name')
  }
})
