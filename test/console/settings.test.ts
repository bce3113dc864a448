import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FAMILIES, grouped } from '../../src/console/settings/families.rules.ts'
import { merged } from '../../src/console/settings/mappings.rules.ts'
import { de } from '../../src/console/words/de.ts'
import { en } from '../../src/console/words/en.ts'
import { ProfileInput } from '../../src/wire/profiles.ts'
import { WatchdogPolicyInput } from '../../src/wire/watchdog.ts'

test('every family, group, field and value of the settings has its word, in each language', () => {
  const specs = Object.values(FAMILIES).flatMap(({ fields }) => fields)
  for (const { locale, settings } of [en, de]) {
    const missing = [
      ...Object.keys(FAMILIES).filter((name) => !settings.families[name]),
      ...specs.filter(({ group }) => group && !settings.groups[group]).map(({ group }) => group),
      ...specs
        .filter(({ name }) => !settings.fields[name] && !settings.fields[name.split('.').at(-1) ?? ''])
        .map(({ name }) => name),
      ...specs.flatMap(({ of = [] }) => of).filter((value) => !settings.values[value]),
    ]
    assert.deepEqual(missing, [], locale)
  }
})

test('forms of profiles and watchdog policies ask for every field the API takes', () => {
  const asked = (name: 'profiles' | 'watchdog') => FAMILIES[name].fields.map((spec) => spec.name.split('.')[0] ?? '')
  assert.deepEqual(
    [...new Set(asked('profiles'))].filter((name) => name !== 'enhances').sort(),
    Object.keys(ProfileInput.shape).sort(),
  )
  assert.deepEqual(asked('watchdog').sort(), Object.keys(WatchdogPolicyInput.shape).sort())
})

test('without enhancement a profile says so, and what was ticked before is not sent', () => {
  const { bodyOf, valuesOf } = FAMILIES.profiles
  assert.deepEqual(bodyOf?.({ enhances: 'off', name: 'Plain' }), { enhancement: null, name: 'Plain' })
  assert.deepEqual(bodyOf?.({ enhancement: { keepRaw: true }, enhances: 'on' }), { enhancement: { keepRaw: true } })
  assert.equal(valuesOf?.({}).enhances, 'off')
})

test('the rows of a channel map are sent as a list, in their order', () => {
  const [a, b] = [{ label: 'a' }, { label: 'b' }]
  assert.deepEqual(FAMILIES.maps.bodyOf?.({ entries: { 0: a, 1: b }, name: 'M' }), { entries: [a, b], name: 'M' })
})

test('fields of a group stand together; the others alone', () => {
  const groups = grouped(FAMILIES.watchdog.fields)
  assert.deepEqual(
    groups.filter(([first]) => first?.group).map((group) => group.length),
    [3, 2, 3, 3, 6],
  )
  assert.ok(groups.filter(([first]) => !first?.group).every((group) => group.length === 1))
})

test('what somebody else connected meanwhile stays; what was changed here is changed', () => {
  const shown = { inputs: [{ input: 1, roomId: 'hall' }], outputs: [{ output: 1, userId: 'ann' }] }
  const now = { inputs: [...shown.inputs, { input: 2, roomId: 'barn' }], outputs: [] }
  assert.deepEqual(merged(now, shown, { input: { 1: '', 2: '', 3: 'attic' }, output: { 1: 'ann', 2: 'bob' } }), {
    inputs: [
      { input: 2, roomId: 'barn' },
      { input: 3, roomId: 'attic' },
    ],
    outputs: [{ output: 2, userId: 'bob' }],
  })
})
