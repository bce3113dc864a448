import { QueryClientProvider } from '@tanstack/preact-query'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Router } from 'wouter-preact'
import type { Myself } from '../../wire/access.ts'
import type { Wall } from '../../wire/displays.ts'
import { type Api, ApiError, createApi } from '../data/api.ts'
import { type LiveState, startLive } from '../data/live.ts'
import { createQueries, refresher } from '../data/reads.ts'
import { useDock } from '../listen/dock.tsx'
import { createMeters, MetersContext } from '../meters/thread.ts'
import { Failure } from '../ui/parts.tsx'
import { Toasts } from '../ui/toast.tsx'
import { DisplayWall } from '../wall/display.tsx'
import { useWords } from '../words/words.ts'
import { AppContext } from './context.ts'
import { takeSecret, whenPasted } from './fragment.ts'
import { Login, LoginAgain } from './login.tsx'
import { Pages } from './pages.tsx'
import { Shell } from './shell.tsx'

type Session =
  | { kind: 'asking' }
  /** A screen on a wall, which nobody is signed in at. */
  | { kind: 'display'; wall: Wall }
  | { kind: 'failed'; error: Error }
  /** `ended`: the session is over, the page with what was typed on it is not. */
  | { kind: 'in'; ended: boolean; me: Myself }
  | { kind: 'out' }

/** Who is here decides everything: nobody, or somebody and the pages. */
export function App() {
  const [session, setSession] = useState<Session>({ kind: 'asking' })
  const [provider, setProvider] = useState(false)
  const [renewing, setRenewing] = useState(false)
  const [linkFault, setLinkFault] = useState<Error>()
  const api = useMemo(
    () => createApi(() => setSession((was) => (was.kind === 'in' ? { ...was, ended: true } : { kind: 'out' }))),
    [],
  )
  const ask = async (): Promise<void> => {
    try {
      const { data } = await api.get<{ data: Myself }>('/auth/me')
      setSession({ ended: false, kind: 'in', me: data })
    } catch (e) {
      if (!(e instanceof ApiError && e.status === 401)) return setSession({ error: e as Error, kind: 'failed' })
      const wall = location.pathname === '/wall' ? await readWall(api) : undefined
      if (wall) setSession({ kind: 'display', wall })
    }
  }
  const signedOut = session.kind === 'out' || (session.kind === 'in' && session.ended)
  const stay = (): void => setRenewing(false)
  const again = (): void => {
    stay()
    void ask()
  }
  useEffect(() => {
    const begin = async (): Promise<void> => {
      setLinkFault(await openByLink(api))
      await ask()
    }
    void begin()
    return whenPasted([SIGN_IN, DISPLAY])
  }, [])
  useEffect(() => {
    if (!signedOut && !renewing) return
    const config = api.get<{ data: { loginAvailable: boolean } }>('/auth/oidc/config')
    // Without an answer there is the password, which says what is wrong.
    config.then(({ data }) => setProvider(data.loginAvailable)).catch(() => {})
  }, [renewing, signedOut])
  switch (session.kind) {
    case 'asking':
      return null
    case 'display':
      return <DisplayWall api={api} first={session.wall} over={() => setSession({ kind: 'out' })} />
    case 'failed':
      return <Failure error={session.error} retry={() => void ask()} />
    case 'out':
      return <Login api={api} done={() => void ask()} linkFault={linkFault} provider={provider} />
    case 'in':
      return (
        <>
          <Inside
            key={session.me.id}
            again={ask}
            api={api}
            ended={session.ended}
            me={session.me}
            renew={() => setRenewing(true)}
          />
          {session.ended && <LoginAgain key="ended" api={api} done={again} provider={provider} />}
          {renewing && !session.ended && (
            <LoginAgain key="renewing" api={api} close={stay} done={again} provider={provider} />
          )}
        </>
      )
  }
}

const DISPLAY = 'display'
const SIGN_IN = 'sign-in'

/** What this browser shows as a screen on a wall; undefined where it is none. */
async function readWall(api: Api): Promise<Wall | undefined> {
  const { data } = await api.get<{ data: Wall }>('/display').catch(() => ({ data: undefined }))
  return data
}

/** Signs in by the link the page was opened with. @returns why that did not work */
async function openByLink(api: Api): Promise<Error | undefined> {
  const screen = takeSecret(DISPLAY)
  const token = takeSecret(SIGN_IN)
  try {
    if (screen !== undefined) await api.send('POST', '/auth/display-session', { token: screen })
    if (token === undefined) return undefined
    await api.send('POST', '/auth/sign-in-link', { token }, { 'x-svc-session': 'cookie' })
    history.replaceState(null, '', '/welcome')
    return undefined
  } catch (e) {
    return e as Error
  }
}

interface InsideProps {
  again(): Promise<void>
  api: Api
  ended: boolean
  me: Myself
  renew(): void
}

function Inside({ again, api, ended, me, renew }: InsideProps) {
  const words = useWords()
  const dock = useDock(api)
  const queries = useMemo(createQueries, [])
  const meters = useMemo(createMeters, [])
  const [live, setLive] = useState<LiveState>({ outdated: false })
  const clockwork = useMemo(() => ({ locale: words.locale, zone: me.site.timezone }), [words, me.site.timezone])
  useEffect(() => {
    if (ended) return () => void queries.invalidateQueries()
    return startLive({
      changed: refresher(queries),
      check: () => void api.get('/auth/me').catch(() => {}),
      resync() {
        void again()
        void queries.invalidateQueries()
      },
      tell: setLive,
    })
  }, [ended])
  useEffect(() => () => [meters.end(), queries.clear()], [])
  const signOut = async (): Promise<void> => {
    dock.stop()
    await api.send('POST', '/auth/logout').catch(() => {})
    location.assign('/')
  }
  const app = { api, clockwork, dock, me, refresh: again, renew, signOut: () => void signOut() }
  return (
    <AppContext.Provider value={app}>
      <QueryClientProvider client={queries}>
        <MetersContext.Provider value={meters}>
          <Router>
            <Toasts>
              <Shell live={live}>
                <Pages />
              </Shell>
            </Toasts>
          </Router>
        </MetersContext.Provider>
      </QueryClientProvider>
    </AppContext.Provider>
  )
}
