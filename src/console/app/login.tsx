import { useState } from 'preact/hooks'
import type { Api } from '../data/api.ts'
import { ApiError } from '../data/api.ts'
import { Field } from '../ui/form.tsx'
import { Button, classes, faultText } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import css from './login.module.css'

interface LoginProps {
  api: Api
  /** Why somebody is here who was inside before. */
  ended: boolean
  done(): void
  /** The identity provider can be used. */
  provider: boolean
}

export function Login({ api, done, ended, provider }: LoginProps) {
  const words = useWords()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const submit = async (e: SubmitEvent): Promise<void> => {
    e.preventDefault()
    const form = new FormData(e.currentTarget as HTMLFormElement)
    setBusy(true)
    setError(undefined)
    try {
      await api.send('POST', '/auth/login', Object.fromEntries(form), { 'x-svc-session': 'cookie' })
      done()
    } catch (e) {
      setError(e as Error)
      setBusy(false)
    }
  }
  const wrong = error instanceof ApiError && error.status === 401
  return (
    <main class={css.login}>
      <form class={classes(ui.card, ui.stack)} onSubmit={(e) => void submit(e)}>
        <h1>
          <img src="/icon.svg" width="32" height="32" alt="" /> {words.login.title}
        </h1>
        {ended && !error && (
          <p role="status" class={ui.warn}>
            {words.login.ended}
          </p>
        )}
        {error && (
          <p role="alert" class={ui.bad}>
            {wrong ? words.login.wrong : faultText(error, words)}
          </p>
        )}
        <Field name="email" type="email" label={words.login.email} autocomplete="username" required />
        <Field name="password" type="password" label={words.login.password} autocomplete="current-password" required />
        <Button type="submit" kind="primary" disabled={busy}>
          {words.login.submit}
        </Button>
        {provider && (
          <a class={ui.button} href={`/api/v1/auth/oidc/login?session=cookie&returnTo=${encodeURIComponent(here())}`}>
            {words.login.provider}
          </a>
        )}
      </form>
    </main>
  )
}

const here = (): string => location.pathname + location.search
