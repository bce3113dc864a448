import type { ChannelMapEntry } from '../../wire/channels.ts'
import { useRead } from '../data/reads.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Name } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import type { Words } from '../words/en.ts'
import { useWords } from '../words/words.ts'
import { type Family, type FieldSpec, grouped, labelOf, type Thing, type Values, valueAt } from './families.rules.ts'

/** What one of a family is set to, for who may read it and not change it. */
export function Shown({ close, family, thing }: { close(): void; family: Family; thing: Thing }) {
  const words = useWords()
  const values = family.valuesOf?.(thing) ?? thing
  const fields = family.fields.filter(({ when }) => when === undefined || valueAt(values, when[0]) === when[1])
  return (
    <Dialog title={String(thing[family.named])} close={close}>
      {grouped(fields).map((group) => (
        <section key={group[0]?.name}>
          {group[0]?.group && <h3>{words.settings.groups[group[0].group] ?? group[0].group}</h3>}
          <dl class={ui.facts}>
            {group.map((spec) => (
              <Value key={spec.name} spec={spec} values={values} />
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  )
}

function Value({ spec, values }: { spec: FieldSpec; values: Values }) {
  const words = useWords()
  const value = valueAt(values, spec.name)
  const from = useRead<{ data: Thing[] }>(value ? spec.from : undefined, ['settings'])
  const named = from.data?.data.find(({ id }) => id === value)?.displayName
  return (
    <>
      <dt>{labelOf(spec, words.settings.fields)}</dt>
      <dd>
        <Name>{String(named ?? textOf(spec, value, values, words))}</Name>
      </dd>
    </>
  )
}

function textOf({ has = '', kind }: FieldSpec, value: unknown, values: Values, { common, settings }: Words): string {
  const onOff = (on: boolean): string => settings.values[on ? 'on' : 'off'] ?? ''
  if (kind === 'tick') return onOff(value === true)
  if (kind === 'secret') return values[has] === true ? settings.stored : settings.noSecret
  if (kind === 'map') return ((value ?? []) as ChannelMapEntry[]).map(entryText).join(', ') || common.unset
  if (kind === 'list') return ((value ?? []) as string[]).join(', ') || common.unset
  if (value === undefined || value === null || value === '') return common.unset
  return kind === 'choice' ? (settings.values[String(value)] ?? String(value)) : String(value)
}

const entryText = ({ included, label, outputChannelIndex, sourceChannelIndex }: ChannelMapEntry): string =>
  `${sourceChannelIndex}: ${label}${included ? (outputChannelIndex ? ` (${outputChannelIndex})` : '') : ' (–)'}`
