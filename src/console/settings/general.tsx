import type { ComponentChildren } from 'preact'
import type { ControllerSettings } from '../../wire/settings.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { Choice, Form } from '../ui/form.tsx'
import { Loading, Section } from '../ui/parts.tsx'
import { useToast } from '../ui/toast.tsx'
import { useWords } from '../words/words.ts'
import { SiteFields } from './site.tsx'

const PATH = '/settings/controller'
const DEFAULTS = [
  ['defaultRecordingProfileId', '/settings/recording-profiles'],
  ['defaultWatchdogPolicyId', '/settings/watchdog-policies'],
  ['defaultRetentionPolicyId', '/settings/retention-policies'],
  ['defaultUploadPolicyId', '/settings/upload-policies'],
] as const

/** What the site is called, its clock, and what recordings get that name nothing. */
export function General() {
  const words = useWords()
  const settings = useRead<{ data: ControllerSettings }>(PATH, ['settings'])
  return (
    <Section title={words.settings.general}>
      <Loading of={settings}>
        {({ data }) => (
          <SettingsForm path={PATH}>
            <SiteFields settings={data} />
            {DEFAULTS.map(([name, path]) => (
              <Default key={name} chosen={data[name] ?? ''} name={name} path={path} />
            ))}
          </SettingsForm>
        )}
      </Loading>
    </Section>
  )
}

/** What is set at one address, changed by who manages settings. */
export function SettingsForm({ children, path }: { children: ComponentChildren; path: string }) {
  const words = useWords()
  const say = useToast()
  const write = useWrite(() => say(words.common.saved))
  return (
    <Form
      error={write.error}
      needs="settings:manage"
      pending={write.isPending}
      send={(body) => write.mutate({ body, method: 'PATCH', path })}
    >
      {children}
    </Form>
  )
}

function Default({ chosen, name, path }: { chosen: string; name: string; path: string }) {
  const words = useWords()
  const list = useRead<{ data: { id: string; name: string }[] }>(path, ['settings'])
  return (
    <Choice
      name={name}
      empty="null"
      label={words.settings.fields[name] ?? name}
      chosen={chosen}
      options={[['', words.common.unset], ...(list.data?.data ?? []).map((one) => [one.id, one.name] as const)]}
    />
  )
}
