import type { Schedule } from '../../wire/schedules.ts'
import type { ControllerSettings } from '../../wire/settings.ts'
import type { UploadPolicy } from '../../wire/uploads.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useAll, useRead } from '../data/reads.ts'
import { classes, Name } from '../ui/parts.tsx'
import type { PageMeta } from '../ui/table.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { NAMED_BY, schedulesWith } from './used.rules.ts'

interface UsedProps {
  id: string
  /** Of the family. */
  name: string
}

/** Where one of a family is used, before it is changed. */
export function Used({ id, name }: UsedProps) {
  const { me } = useApp()
  if (name === 'destinations') return <ByPolicies id={id} />
  if (!NAMED_BY[name]) return null
  return (
    <ul class={classes(ui.rows, ui.small)}>
      <AsDefault id={id} name={name} />
      {may(me, 'schedule:read') && <BySchedules id={id} name={name} />}
      {may(me, 'recording:read') && <ByTakes id={id} name={name} />}
    </ul>
  )
}

function ByPolicies({ id }: { id: string }) {
  const words = useWords()
  const list = useRead<{ data: UploadPolicy[] }>('/settings/upload-policies', ['settings'])
  const names = list.data?.data.filter(({ destinationId }) => destinationId === id).map(({ name }) => name)
  return (
    names && (
      <p class={ui.small}>
        {words.settings.usedByPolicies(names.length)} <Name>{names.join(', ')}</Name>
      </p>
    )
  )
}

function AsDefault({ id, name }: UsedProps) {
  const words = useWords()
  const settings = useRead<{ data: ControllerSettings }>('/settings/controller', ['settings'])
  const naming = NAMED_BY[name]
  return naming && settings.data?.data[naming.default] === id ? <li>{words.settings.usedAsDefault}</li> : null
}

function BySchedules({ id, name }: UsedProps) {
  const words = useWords()
  const all = useAll<Schedule>('/schedules', ['schedule'])
  const naming = NAMED_BY[name]
  if (!naming || !all.data) return null
  const names = schedulesWith(id, naming, all.data)
  return (
    <li>
      {words.settings.usedBySchedules(names.length)} <Name>{names.join(', ')}</Name>
    </li>
  )
}

function ByTakes({ id, name }: UsedProps) {
  const words = useWords()
  const field = NAMED_BY[name]?.takes
  const path = field && `/recordings?${new URLSearchParams({ [field]: id, limit: '1' })}`
  const takes = useRead<{ meta: PageMeta }>(path, ['recording'])
  return takes.data ? <li>{words.settings.usedByTakes(takes.data.meta.total)}</li> : null
}
