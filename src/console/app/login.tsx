import { useEffect, useRef, useState } from 'preact/hooks'
import type { Api } from '../data/api.ts'
import { ApiError } from '../data/api.ts'
import { faultText } from '../ui/fault.rules.ts'
import { Field } from '../ui/form.tsx'
import { Button, classes } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import css from './login.module.css'

interface LoginProps {
  api: Api
  /** Given where the session still stands: there is a way back. */
  close?(): void
  done(): void
  /** Asks whether somebody has signed in elsewhere; given over a page, which must not be left for it. */
  look?(): void
  /** Why the link somebody came by signs in no more. */
  linkFault?: Error | undefined
  /** Tries the link again. */
  openLink?(): void
  /** The kind of the identity provider, where one can be used. */
  provider: string | undefined
}

export const Login = (how: LoginProps) => (
  <main class={css.login}>
    <LoginForm {...how} />
  </main>
)

/** Over the page, which keeps what was typed on it: the provider is visited in another tab. */
export function LoginAgain(how: LoginProps & Required<Pick<LoginProps, 'look'>>) {
  const words = useWords()
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => ref.current?.showModal(), [])
  useEffect(() => {
    window.addEventListener('focus', how.look)
    return () => window.removeEventListener('focus', how.look)
  }, [how.look])
  return (
    <dialog
      ref={ref}
      class={ui.dialog}
      aria-label={words.login.title}
      onCancel={(e) => !how.close && e.preventDefault()}
      onClose={() => (how.close ? how.close() : ref.current?.showModal())}
    >
      <LoginForm {...how} ended={how.close === undefined} />
    </dialog>
  )
}

function LoginForm({
  api,
  close,
  done,
  ended = false,
  linkFault,
  look,
  openLink,
  provider,
}: LoginProps & { ended?: boolean }) {
  const words = useWords()
  const spent = location.pathname === '/wall' ? words.displays.spent : words.welcome.linkSpent
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
  return (
    <form class={classes(ui.card, ui.stack)} onSubmit={(e) => void submit(e)}>
      <h1>
        <img src="/icon.svg" width="32" height="32" alt="" /> {words.login.title}
      </h1>
      {ended && !error && (
        <p role="status" class={ui.warn}>
          {words.login.ended}
        </p>
      )}
      {linkFault && !error && (
        <p role="status" class={ui.warn}>
          {isRefused(linkFault) ? spent : faultText(linkFault, words)}
        </p>
      )}
      {linkFault && !isRefused(linkFault) && openLink && <Button onClick={openLink}>{words.common.retry}</Button>}
      {error && (
        <p role="alert" class={ui.bad}>
          {isRefused(error) ? words.login.wrong : faultText(error, words)}
        </p>
      )}
      <Field name="email" type="email" label={words.login.email} autocomplete="username" required />
      <Field name="password" type="password" label={words.login.password} autocomplete="current-password" required />
      <Button type="submit" kind="primary" disabled={busy}>
        {words.login.submit}
      </Button>
      {close && <Button onClick={close}>{words.common.cancel}</Button>}
      {provider && (
        <a
          class={ui.button}
          href={`/api/v1/auth/oidc/login?session=cookie&returnTo=${encodeURIComponent(here())}`}
          {...(look ? { rel: 'noopener', target: '_blank' } : {})}
        >
          {look ? words.login.inNewTab(words.login.provider(provider)) : words.login.provider(provider)}
        </a>
      )}
    </form>
  )
}

const isRefused = (e: Error): boolean => e instanceof ApiError && e.status === 401

const here = (): string => location.pathname + location.search
