import type { ComponentChildren } from 'preact'
import type { Group } from '../../wire/access.ts'
import type { ChannelMode } from '../../wire/profiles.ts'
import type { Schedule } from '../../wire/schedules.ts'
import type { UploadPolicy } from '../../wire/uploads.ts'
import { ChosenOnes } from '../access/chosen.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'
import { BACKENDS } from '../recorders/audio.rules.ts'
import { Choice, Field, Tick } from '../ui/form.tsx'
import { classes } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import type { Chosen } from './draft.rules.ts'

const CHANNEL_MODES: readonly ChannelMode[] = ['mono', 'stereo', 'mono_to_stereo_mix', 'multichannel']

interface MoreProps {
  choose(chosen: Chosen): void
  chosen: Chosen
  /** Nobody sees what they copy unasked: it can be left out. */
  duplicates: boolean
  model?: Schedule
}

/** What most leave as the site is set. */
export function More(props: MoreProps) {
  const words = useWords()
  const { model } = props
  const { me } = useApp()
  const sees = may(me, 'settings:read')
  return (
    <>
      {sees && (
        <Setting
          name="recordingProfileId"
          label={words.schedule.profile}
          path="/settings/recording-profiles"
          value={model?.recordingProfileId}
        />
      )}
      <Tick name="enabled" label={words.schedule.enabled} defaultChecked={model?.enabled ?? true} />
      <details>
        <summary>{words.schedule.rest}</summary>
        <div class={classes(ui.stack, ui.folded)}>
          <Field
            name="titleTemplate"
            label={words.schedule.titles}
            hint={words.schedule.placeholders}
            defaultValue={model?.titleTemplate ?? '{{schedule.name}} {{date}} {{time}}'}
            maxLength={500}
            required
          />
          <Field
            name="folderTemplate"
            label={words.schedule.folder}
            defaultValue={model?.folderTemplate ?? '{{schedule.name}}'}
            maxLength={500}
            required
          />
          <Field name="tags" kind="list" label={words.schedule.tags} defaultValue={model?.tags.join(', ') ?? ''} />
          {sees && <Policies {...props} />}
          <Capture {...(model ? { model } : {})} />
          <Assigned {...props} />
        </div>
      </details>
    </>
  )
}

interface SettingProps {
  label: string
  name: string
  path: string
  value: string | undefined
}

function Setting({ label, name, path, value }: SettingProps) {
  const words = useWords()
  const read = useRead<{ data: { id: string; name: string }[] }>(path, ['settings'])
  if (!read.data) return null
  const options = read.data.data.map((one) => [one.id, one.name] as const)
  return (
    <Choice
      name={name}
      label={label}
      chosen={value ?? ''}
      options={value === undefined ? [['', words.schedule.usual], ...options] : options}
    />
  )
}

function Policies({ choose, chosen, model }: MoreProps) {
  const words = useWords()
  const uploads = useRead<{ data: UploadPolicy[] }>('/settings/upload-policies', ['settings'])
  const held = chosen.uploadPolicyIds ?? model?.uploadPolicyIds ?? []
  // A policy without a destination copies nothing.
  const offered = (uploads.data?.data ?? []).filter(
    ({ destinationId, enabled, id }) => held.includes(id) || (enabled && destinationId !== undefined),
  )
  const toggle = (id: string): void => {
    const next = held.includes(id) ? held.filter((one) => one !== id) : [...held, id]
    const { uploadPolicyIds: _, ...others } = chosen
    choose(next.length === 0 && !model ? others : { ...others, uploadPolicyIds: next })
  }
  return (
    <>
      {offered.length > 0 && (
        <fieldset>
          <legend>{model ? words.schedule.uploads : words.schedule.uploadsUsual}</legend>
          {offered.map(({ id, name }) => (
            <Tick key={id} name="" label={name} checked={held.includes(id)} onChange={() => toggle(id)} />
          ))}
        </fieldset>
      )}
      <Setting
        name="retentionPolicyId"
        label={words.schedule.retention}
        path="/settings/retention-policies"
        value={model?.retentionPolicyId}
      />
      <Setting
        name="watchdogPolicyId"
        label={words.schedule.watchdog}
        path="/settings/watchdog-policies"
        value={model?.watchdogPolicyId}
      />
    </>
  )
}

/** How the device is read, where that is not as profile and recorder say. */
function Capture({ model }: Pick<MoreProps, 'model'>) {
  const words = useWords()
  const empty = model ? 'null' : 'omit'
  return (
    <>
      <Choice
        name="channelMode"
        empty={empty}
        label={words.schedule.channelMode}
        chosen={model?.channelMode ?? ''}
        options={[
          ['', words.schedule.asProfile],
          ...CHANNEL_MODES.map((mode) => [mode, words.settings.values[mode] ?? mode] as const),
        ]}
      />
      <Choice
        name="captureBackend"
        empty={empty}
        label={words.recorders.backend}
        chosen={model?.captureBackend ?? ''}
        options={[['', words.common.unset], ...BACKENDS.map((backend) => [backend, backend] as const)]}
      />
    </>
  )
}

/** Who may see and operate the room while it is recorded. Who may not see people keeps them, or leaves them out. */
function Assigned(props: MoreProps): ComponentChildren {
  const { chosen, choose, duplicates, model } = props
  const words = useWords()
  const { me } = useApp()
  if (may(me, 'auth:manage')) return <People {...props} />
  const [groups, users] = [model?.assignedGroupIds ?? [], model?.assignedUserIds ?? []]
  const count = groups.length + users.length
  if (count === 0) return null
  if (!duplicates) return <p class={ui.quiet}>{words.schedule.assignedStay(count)}</p>
  return (
    <Tick
      name=""
      label={words.schedule.assignSame(count)}
      checked={chosen.assignedUserIds === undefined}
      onChange={() => {
        const { assignedGroupIds: _a, assignedUserIds: left, ...others } = chosen
        choose(left ? others : { ...others, assignedGroupIds: [], assignedUserIds: [] })
      }}
    />
  )
}

interface Named {
  id: string
  name: string
}

/** As many as one answer holds; of more than these the id is shown. */
const NAMED = '?limit=200&offset=0'

function People({ choose, chosen, model }: MoreProps) {
  const words = useWords()
  const users = chosen.assignedUserIds ?? model?.assignedUserIds ?? []
  const groups = chosen.assignedGroupIds ?? model?.assignedGroupIds ?? []
  const known = [
    useRead<{ data: Named[] }>(users.length > 0 ? `/auth/users${NAMED}` : undefined, ['user']),
    useRead<{ data: Group[] }>(groups.length > 0 ? `/auth/groups${NAMED}` : undefined, ['user']),
  ].flatMap(({ data }) => data?.data ?? [])
  const named = (ids: readonly string[]): Named[] =>
    ids.map((id) => ({ id, name: known.find((one) => one.id === id)?.name ?? id }))
  return (
    <>
      <ChosenOnes
        change={(all) => choose({ ...chosen, assignedUserIds: all.map(({ id }) => id) })}
        chosen={named(users)}
        label={words.schedule.assignPerson}
        legend={words.schedule.people}
        of="user"
      />
      <ChosenOnes
        change={(all) => choose({ ...chosen, assignedGroupIds: all.map(({ id }) => id) })}
        chosen={named(groups)}
        label={words.schedule.assignGroup}
        legend={words.schedule.groups}
        of="group"
      />
    </>
  )
}
