import { useState } from 'preact/hooks'
import { useApp } from '../app/context.ts'
import { KeysButton } from '../app/keys.tsx'
import { may } from '../app/may.rules.ts'
import { keep } from '../data/kept.ts'
import { useWrite } from '../data/reads.ts'
import { deviceZone, ZONES_OF, type ZoneOf } from '../time/zones.tsx'
import { Choice } from '../ui/form.tsx'
import { Button, Failure, Section, Title } from '../ui/parts.tsx'
import { CurrentPassword, NewPassword } from '../ui/password.tsx'
import ui from '../ui/ui.module.css'
import { LANGUAGES, type Language, useLanguage, useWords } from '../words/words.ts'
import { AlertMail } from './mail.tsx'
import { Sessions } from './sessions.tsx'

export function MePage(_: { id: string }) {
  const words = useWords()
  const { me, signOut } = useApp()
  const [fault, setFault] = useState<Error>()
  return (
    <>
      <Title>{words.me.title}</Title>
      <Section
        title={me.name}
        aside={<Button onClick={() => void signOut().catch(setFault)}>{words.login.signOut}</Button>}
      >
        {fault && <Failure error={fault} />}
        <dl class={ui.facts}>
          <dt>{words.login.email}</dt>
          <dd>{me.email}</dd>
          <dt>{words.me.roles}</dt>
          <dd>{me.roles.map((role) => words.access.roles[role]).join(', ') || words.me.noRoles}</dd>
        </dl>
        <div class={ui.row}>
          <KeysButton />
          <a class={ui.button} href="/docs" target="_blank" rel="noreferrer">
            {words.me.api}
          </a>
        </div>
      </Section>
      <LanguageChoice />
      <ZoneChoice />
      <Theme />
      {me.provider === 'local' ? <Password /> : <ProviderPassword />}
      {may(me, 'health:read') && <AlertMail />}
      <Sessions />
    </>
  )
}

function LanguageChoice() {
  const { choose, language, words } = useLanguage()
  return (
    <Section title={words.me.language}>
      <Choice
        label={words.me.language}
        name="language"
        value={language}
        options={Object.entries(LANGUAGES)}
        onChange={(e) => choose(e.currentTarget.value as Language)}
      />
    </Section>
  )
}

/** Times are shown in one zone: that of the site, or the one this device is in. */
function ZoneChoice() {
  const words = useWords()
  const { chooseZone, me, zoneOf } = useApp()
  const zones = { device: deviceZone(), site: me.site.timezone }
  return (
    <Section title={words.me.zone}>
      <Choice
        label={words.me.zone}
        name="zone"
        value={zoneOf}
        options={ZONES_OF.map((one) => [one, words.me.zones[one](zones[one])] as const)}
        onChange={(e) => chooseZone(e.currentTarget.value as ZoneOf)}
      />
    </Section>
  )
}

/** Who signs in elsewhere changes the password there. */
function ProviderPassword() {
  const words = useWords()
  return (
    <Section title={words.me.password}>
      <p>{words.me.elsewhere}</p>
    </Section>
  )
}

const THEMES = ['system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]
const KEY = 'roomtone.theme'

function Theme() {
  const words = useWords()
  const [theme, setTheme] = useState<Theme>(() => (document.documentElement.dataset.theme as Theme) ?? 'system')
  const choose = (next: Theme): void => {
    setTheme(next)
    if (next === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = next
    keep(KEY, next)
  }
  return (
    <Section title={words.me.theme}>
      <div class={ui.row} role="radiogroup" aria-label={words.me.theme}>
        {THEMES.map((one) => (
          <label key={one} class={ui.button}>
            <input type="radio" name="theme" checked={theme === one} onChange={() => choose(one)} />
            {words.me.themes[one]}
          </label>
        ))}
      </div>
    </Section>
  )
}

function Password() {
  const words = useWords()
  const change = useWrite()
  const submit = (e: SubmitEvent): void => {
    e.preventDefault()
    const form = e.currentTarget as HTMLFormElement
    change.mutate(
      { body: Object.fromEntries(new FormData(form)), method: 'PATCH', path: '/auth/me/password' },
      { onSuccess: () => form.reset() },
    )
  }
  return (
    <Section title={words.me.password}>
      <form class={ui.stack} onSubmit={submit}>
        <CurrentPassword />
        <NewPassword name="newPassword" label={words.me.next} />
        <div class={ui.row}>
          <Button type="submit" kind="primary" disabled={change.isPending}>
            {words.me.change}
          </Button>
        </div>
        {change.isSuccess && (
          <p role="status" class={ui.good}>
            {words.me.changed}
          </p>
        )}
        {change.error && <Failure error={change.error} />}
      </form>
    </Section>
  )
}
