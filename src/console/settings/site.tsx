import type { ControllerSettings } from '../../wire/settings.ts'
import { Zones } from '../time/zones.tsx'
import { Choice, Field } from '../ui/form.tsx'
import { useWords } from '../words/words.ts'

/** What the site is called, and its clock. */
export function SiteFields({
  settings,
  zone = settings.timezone ?? '',
}: {
  settings: ControllerSettings
  zone?: string
}) {
  const words = useWords()
  return (
    <>
      <Field
        name="siteName"
        empty="text"
        label={words.settings.fields.siteName ?? ''}
        defaultValue={settings.siteName}
        maxLength={120}
      />
      <Field
        name="timezone"
        empty="null"
        label={words.settings.fields.timezone ?? ''}
        hint={words.settings.zoneOfMachine}
        defaultValue={zone}
        list="zones"
      />
      <Zones id="zones" />
      <Choice
        name="weekStartsOn"
        label={words.settings.fields.weekStartsOn ?? ''}
        chosen={settings.weekStartsOn}
        options={Object.entries(words.schedule.weekdays)}
      />
    </>
  )
}
