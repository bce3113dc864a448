import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { test } from 'node:test'
import { componentsOf, type Packages } from '../../scripts/components.rules.ts'
import { notes, tagFor } from '../../scripts/release.rules.ts'

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

test('the list of components is what is shipped, whatever order the lock has', () => {
  const integrity = `sha512-${Buffer.alloc(64, 7).toString('base64')}`
  const packages: Packages = {
    '': { dependencies: { '@x/a': '1', b: '2' }, license: 'MIT', version: '0.1.0' },
    'node_modules/@x/a': { dependencies: { b: '1', gone: '1' }, integrity, license: 'MIT OR ISC', version: '1.0.0' },
    'node_modules/@x/a/node_modules/b': { license: 'ISC', version: '1.0.0' },
    'node_modules/b': { peerDependencies: { '@x/a': '1', absent: '1' }, version: '2.0.0' },
    'node_modules/tool': { dev: true, version: '9.0.0' },
  }
  const one = componentsOf(packages, '2026.11.21-1')
  assert.deepEqual(componentsOf(Object.fromEntries(Object.entries(packages).reverse()), '2026.11.21-1'), one)
  assert.deepEqual(
    one.components.map(({ purl }) => purl),
    ['pkg:npm/%40x/a@1.0.0', 'pkg:npm/b@1.0.0', 'pkg:npm/b@2.0.0'],
  )
  const [a] = one.components
  assert.deepEqual(a?.licenses, [{ expression: 'MIT OR ISC' }])
  assert.deepEqual(a?.hashes, [{ alg: 'SHA-512', content: '07'.repeat(64) }])
  // Each takes the copy that is nearest to it.
  const uses = Object.fromEntries(one.dependencies.map(({ dependsOn, ref }) => [ref, dependsOn]))
  assert.deepEqual([uses.roomtone, uses['@x/a@1.0.0']], [['@x/a@1.0.0', 'b@2.0.0'], ['b@1.0.0']])
  assert.deepEqual(uses['b@2.0.0'], ['@x/a@1.0.0'])
})
