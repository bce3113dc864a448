// The files for Prometheus and Grafana themselves; what a controller and a Prometheus make of them is prometheus.live.test.ts.
import assert from 'node:assert/strict'
import * as path from 'node:path'
import { test } from 'node:test'
import { sources } from '../conventions/source.ts'
import { noPrometheus, promtool } from '../kit/prometheus.ts'
import { dashboards, filledIn, PROMETHEUS, provisioning, rules } from './dashboards.ts'

const alerts = rules().filter((rule) => rule.alert)

test('promtool accepts rules and configuration, and the tests of the rules pass', { skip: noPrometheus }, () => {
  promtool(['check', 'rules', '--lint=all', '--lint-fatal', path.join(PROMETHEUS, 'roomtone.rules.yml')])
  promtool(['check', 'config', '--syntax-only', path.join(PROMETHEUS, 'prometheus.yml')])
  promtool(['test', 'rules', path.join(PROMETHEUS, 'roomtone.rules.test.yml')])
})

test('every alert says how bad it is, what happened and what to do, and is raised in the tests of the rules', () => {
  assert.ok(alerts.length > 20)
  assert.equal(new Set(alerts.map(({ alert }) => alert)).size, alerts.length)
  const tested = readTests()
  for (const { alert = '', annotations = {}, expr, for: span, labels = {} } of alerts) {
    assert.match(alert, /^Roomtone[A-Z]\w+$/)
    assert.match(labels.severity ?? '', /^(critical|warning)$/, alert)
    assert.match(annotations.summary ?? '', /^\S.{10,130}[^.]$/, alert)
    assert.ok((annotations.description ?? '').length > 60 && annotations.description?.endsWith('.'), alert)
    // Over a span of its own it does not flap; everything else has to last.
    assert.ok(span || /\[\d+[mh]\]/.test(expr), `${alert} is raised at once`)
    assert.ok(tested.has(alert), `${alert} is not raised in roomtone.rules.test.yml`)
  }
})

/** Names of the alerts that some test expects. */
function readTests(): Set<string> {
  const [text = ''] = sources(['deploy/prometheus'], ['.rules.test.yml']).map(({ text }) => text)
  return new Set([...text.matchAll(/alertname(?:="|: )(Roomtone\w+)/g)].map(([, name = '']) => name))
}

test('every kind of event that a rule names is one', () => {
  const text = sources(['src'], ['.ts'])
    .map((source) => source.text)
    .join('\n')
  const known = new Set(
    [...text.matchAll(/'((?:agent|controller|schedule|watchdog)\.[a-z_.]+)'/g)].map(([, t = '']) => t),
  )
  for (const rule of ['low_signal', 'clipping', 'flatline', 'quality_anomaly', 'channel_correlation'])
    known.add(`watchdog.${rule === 'low_signal' ? 'scheduled_low_signal' : rule}`)
  const named = rules().flatMap(({ expr }) =>
    [...expr.matchAll(/event_type=~"([^"]+)"/g)].map(([, regex = '']) => regex),
  )
  assert.ok(named.length > 5)
  for (const regex of named) {
    const found = [...known].filter((type) => new RegExp(`^(${regex})$`).test(type))
    if (regex.endsWith('.+')) assert.ok(found.length > 0, regex)
    else assert.equal(found.length, regex.split('|').length, `${regex} finds ${found}`)
  }
})

test('dashboards have names of their own, lie side by side, and ask the data source that is chosen', () => {
  const all = dashboards()
  assert.deepEqual(
    all.map(({ file, uid }) => [file, uid]),
    ['controller', 'fleet', 'recorder', 'room'].map((name) => [`${name}.json`, `roomtone-${name}`]),
  )
  for (const { file, panels, templating } of all) {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, file)
    const names = new Set(templating.list.map(({ name }) => name))
    const taken = new Set<string>()
    for (const { datasource, gridPos: at, targets = [], title, type } of panels) {
      for (let x = at.x; x < at.x + at.w; x++)
        for (let y = at.y; y < at.y + at.h; y++) {
          assert.ok(x < 24 && !taken.has(`${x} ${y}`), `${file}: ${title} lies upon another`)
          taken.add(`${x} ${y}`)
        }
      if (type === 'row') continue
      assert.ok(targets.length > 0 && datasource?.uid === `\${datasource}`, `${file}: ${title}`)
      for (const { expr } of targets) {
        const left = filledIn(expr, Object.fromEntries([...names].map((name) => [name, 'x'])))
        assert.ok(!left.includes('$'), `${file}: ${title} uses a variable that is not there: ${left}`)
      }
    }
  }
})

test('the examples of provisioning name the folder and the kind of source', () => {
  const { providers } = provisioning('dashboards.yaml')
  assert.deepEqual([providers[0].type, providers[0].options.path], ['file', '/var/lib/grafana/dashboards/roomtone'])
  const { datasources } = provisioning('datasources.yaml')
  assert.equal(datasources[0].type, 'prometheus')
})
