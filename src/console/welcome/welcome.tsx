import { Link, useLocation, useSearchParams } from 'wouter-preact'
import type { ControllerSettings } from '../../wire/settings.ts'
import { useApp } from '../app/context.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { SiteFields } from '../settings/site.tsx'
import { Form } from '../ui/form.tsx'
import { Button, classes, Loading, Section, Title } from '../ui/parts.tsx'
import { CurrentPassword, NewPassword } from '../ui/password.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { STEPS, stepAfter, stepOf } from './steps.rules.ts'

/** The first minutes with a new site. Where one is stands in the address; a step that is left out waits on Today. */
export function WelcomePage(_: { id: string }) {
  const words = useWords()
  const [params, setParams] = useSearchParams()
  const [, go] = useLocation()
  const { me, refresh } = useApp()
  const step = stepOf(params.get('step'), me.choosesPassword === true)
  const onward = (): void => {
    void refresh()
    const next = stepAfter(step)
    if (next) setParams({ step: next })
    else go('/')
  }
  return (
    <>
      <Title>{words.welcome.title}</Title>
      <p class={ui.quiet}>{words.welcome.step(STEPS.indexOf(step) + 1, STEPS.length)}</p>
      {step === 'password' && <Password onward={onward} />}
      {step === 'site' && <Site onward={onward} />}
      {step === 'room' && <FirstRoom onward={onward} />}
    </>
  )
}

function Password({ onward }: { onward(): void }) {
  const words = useWords()
  const { me } = useApp()
  const change = useWrite(onward)
  return (
    <Section title={words.welcome.password}>
      <p>{words.welcome.passwordWhy(me.email)}</p>
      <Form
        error={change.error}
        pending={change.isPending}
        aside={<Button onClick={onward}>{words.welcome.skip}</Button>}
        send={(body) => change.mutate({ body, method: 'PATCH', path: '/auth/me/password' })}
      >
        <input type="email" autocomplete="username" value={me.email} readOnly hidden />
        {!me.choosesPassword && <CurrentPassword />}
        <NewPassword name="newPassword" label={words.me.next} />
      </Form>
    </Section>
  )
}

function Site({ onward }: { onward(): void }) {
  const words = useWords()
  const settings = useRead<{ data: ControllerSettings }>('/settings/controller', ['settings'])
  const write = useWrite(onward)
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <Section title={words.welcome.site}>
      <Loading of={settings}>
        {({ data }) => (
          <Form
            error={write.error}
            needs="settings:manage"
            pending={write.isPending}
            aside={<Button onClick={onward}>{words.welcome.skip}</Button>}
            send={(body) => write.mutate({ body, method: 'PATCH', path: '/settings/controller' })}
          >
            <SiteFields settings={data} zone={data.timezone ?? zone} />
          </Form>
        )}
      </Loading>
    </Section>
  )
}

function FirstRoom({ onward }: { onward(): void }) {
  const words = useWords()
  const rooms = useRead<{ data: unknown[] }>('/rooms', ['room', 'node'])
  return (
    <Section title={words.welcome.room}>
      <Loading of={rooms}>
        {({ data }) => (
          <>
            <p>{data.length === 0 ? words.welcome.roomWhy : words.welcome.roomThere}</p>
            <div class={ui.row}>
              <Link href="/add" class={classes(ui.button, data.length === 0 && ui.primary)}>
                {words.onboard.title}
              </Link>
              <Button onClick={onward} {...(data.length === 0 ? {} : { kind: 'primary' as const })}>
                {words.welcome.toToday}
              </Button>
            </div>
          </>
        )}
      </Loading>
    </Section>
  )
}
