import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { test } from 'node:test'
import { type Bom, notes, sbomOf, tagFor } from '../../scripts/release.rules.ts'

test('a release is named by its commit: the tag it has, else its day with the next free number', () => {
  assert.equal(tagFor('2026.11.21', [], []), 'agent-v2026.11.21-1')
  const all = ['agent-v2026.11.20-7', 'agent-v2026.11.21-9', 'agent-v2026.11.21-10', 'v3', 'agent-v2026.11.21-x']
  assert.equal(tagFor('2026.11.21', [], all), 'agent-v2026.11.21-11')
  assert.equal(tagFor('2026.11.22', ['v3'], all), 'agent-v2026.11.22-1')
  assert.equal(tagFor('2026.11.22', ['agent-v2026.11.21-9', 'agent-v2026.11.21-10'], all), 'agent-v2026.11.21-10')
})

test('the notes are the part of the changelog about the version, or about what was not released', () => {
  const log = '# Changelog\n\n## [Unreleased]\n\n- new\n\n## [2026.11.21-1] - 2026-11-21\n\n### Added\n\n- first\n'
  assert.equal(notes(log, '2026.11.21-1'), '# Roomtone 2026.11.21-1\n\n### Added\n\n- first\n')
  assert.equal(notes(log, '2026.11.22-1'), '# Roomtone 2026.11.22-1\n\n- new\n')
  assert.match(notes(fs.readFileSync('CHANGELOG.md', 'utf8'), '2026.11.22-1'), /### Added/)
  assert.throws(() => notes('# Nothing', '1'), /neither 1 nor Unreleased/)
})

test('the list of components says the same whatever order, clock, folder and npm it came from', () => {
  const a = { 'bom-ref': 'a@1', name: 'a', properties: ['node_modules/a'], purl: 'pkg:npm/a@1', version: '1' }
  const b = { 'bom-ref': 'b@2', hashes: [{ alg: 'SHA-512' }], name: 'b', purl: 'pkg:npm/b@2', version: '2' }
  const bom = (folder: string, components: object[]) => ({
    components,
    dependencies: [
      { dependsOn: components.map((one) => (one as typeof a)['bom-ref']), ref: 'roomtone@0.1.0' },
      ...components.map((one) => ({ ref: (one as typeof a)['bom-ref'] })),
    ],
    metadata: { component: { 'bom-ref': 'roomtone@0.1.0', licenses: ['MIT'], name: folder }, timestamp: Math.random() },
    serialNumber: Math.random(),
  })
  const one = sbomOf(bom('main', [a, b]) as unknown as Bom, '2026.11.21-1')
  assert.deepEqual(sbomOf(bom('other', [b, a]) as unknown as Bom, '2026.11.21-1'), one)
  assert.deepEqual(
    one.components.map(({ purl }) => purl),
    ['pkg:npm/a@1', 'pkg:npm/b@2'],
  )
  assert.deepEqual(one.dependencies.at(-1), { dependsOn: ['a@1', 'b@2'], ref: 'roomtone' })
})
