import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FAMILIES, type Family, type FamilyName, grouped, isNeeded } from '../../src/console/settings/families.rules.ts'
import { merged } from '../../src/console/settings/mappings.rules.ts'
import { NAMED_BY, schedulesWith } from '../../src/console/settings/used.rules.ts'
import { bodyOf, type Entered } from '../../src/console/ui/form.rules.ts'
import { de } from '../../src/console/words/de.ts'
import { en } from '../../src/console/words/en.ts'
import { TemplatePatch } from '../../src/wire/channels.ts'
import { ProfileInput, ProfilePatch } from '../../src/wire/profiles.ts'
import { RetentionPatch } from '../../src/wire/retention.ts'
import { SwitcherPatch } from '../../src/wire/switchers.ts'
import { DestinationPatch, UploadPolicyPatch } from '../../src/wire/uploads.ts'
import { WatchdogPolicyInput, WatchdogPolicyPatch } from '../../src/wire/watchdog.ts'

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

const PATCHES = {
  destinations: DestinationPatch,
  maps: TemplatePatch,
  profiles: ProfilePatch,
  retention: RetentionPatch,
  switchers: SwitcherPatch,
  uploads: UploadPolicyPatch,
  watchdog: WatchdogPolicyPatch,
} satisfies Record<FamilyName, unknown>

/** What a form of a family sends where everything that may be empty is; `kind` is that of a destination. */
function emptied({ bodyOf: made = (values) => values, fields, named }: Family, kind: string) {
  const open = fields
    .filter(({ when }) => when?.[0] !== 'kind' || when[1] === kind)
    .filter((spec) => !isNeeded(spec, 'stored') && ['number', 'text', 'tick'].includes(spec.kind))
  const entered = open.map((spec): Entered => {
    const kind = spec.kind === 'tick' ? 'checkbox' : (spec.kind as 'number' | 'text')
    return { checked: false, empty: spec.empty ?? 'omit', kind, name: spec.name, value: '' }
  })
  const chosen = fields.some(({ name }) => name === 'enhances') ? { enhances: 'on' } : {}
  return { body: made({ ...bodyOf(entered), ...chosen, [named]: 'Any' }), open }
}

test('what is emptied in a form is cleared by the API, or may not be empty', () => {
  for (const [name, family] of Object.entries(FAMILIES))
    for (const kind of ['s3', 'smb']) {
      const { body, open } = emptied(family, kind)
      const { entries: _, ...sent } = body
      const taken = PATCHES[name as FamilyName].parse(sent)
      assert.deepEqual(
        open.map((spec) => spec.name.split('.')[0] ?? '').filter((field) => !(field in taken)),
        [],
        name,
      )
    }
})

test('a policy says which schedules use it, also as one of several', () => {
  const schedules = [
    {
      name: 'Mass',
      recordingProfileId: 'p',
      retentionPolicyId: 'r',
      uploadPolicyIds: ['a', 'b'],
      watchdogPolicyId: 'w',
    },
    { name: 'Talk', recordingProfileId: 'q', retentionPolicyId: 'r', uploadPolicyIds: ['b'], watchdogPolicyId: 'w' },
  ]
  const using = (family: string, id: string) => schedulesWith(id, NAMED_BY[family] as never, schedules)
  assert.deepEqual(using('profiles', 'p'), ['Mass'])
  assert.deepEqual(using('retention', 'r'), ['Mass', 'Talk'])
  assert.deepEqual(using('uploads', 'a'), ['Mass'])
  assert.deepEqual(using('watchdog', 'none'), [])
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
