import { QueryClientProvider } from '@tanstack/preact-query'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Router } from 'wouter-preact'
import type { Myself } from '../../wire/access.ts'
import { type Api, ApiError, createApi } from '../data/api.ts'
import { type LiveState, startLive } from '../data/live.ts'
import { createQueries, refresher } from '../data/reads.ts'
import { useDock } from '../listen/dock.tsx'
import { createMeters, MetersContext } from '../meters/thread.ts'
import { Failure } from '../ui/parts.tsx'
import { Toasts } from '../ui/toast.tsx'
import { useWords } from '../words/words.ts'
import { AppContext } from './context.ts'
import { Login } from './login.tsx'
import { Pages } from './pages.tsx'
import { Shell } from './shell.tsx'

type Session =
  | { kind: 'asking' }
  | { kind: 'failed'; error: Error }
  | { kind: 'in'; me: Myself }
  | { kind: 'out'; ended: boolean }

/** Who is here decides everything: nobody, or somebody and the pages. */
export function App() {
  const [session, setSession] = useState<Session>({ kind: 'asking' })
  const [provider, setProvider] = useState(false)
  const api = useMemo(() => createApi(() => setSession((was) => ({ ended: was.kind === 'in', kind: 'out' }))), [])
  const ask = async (): Promise<void> => {
    try {
      const { data } = await api.get<{ data: Myself }>('/auth/me')
      setSession({ kind: 'in', me: data })
    } catch (e) {
      if (!(e instanceof ApiError && e.status === 401)) setSession({ error: e as Error, kind: 'failed' })
    }
  }
  useEffect(() => void ask(), [])
  useEffect(() => {
    if (session.kind !== 'out') return
    const config = api.get<{ data: { loginAvailable: boolean } }>('/auth/oidc/config')
    // Without an answer there is the password, which says what is wrong.
    config.then(({ data }) => setProvider(data.loginAvailable)).catch(() => {})
  }, [session.kind])
  switch (session.kind) {
    case 'asking':
      return null
    case 'failed':
      return <Failure error={session.error} retry={() => void ask()} />
    case 'out':
      return <Login api={api} done={() => void ask()} ended={session.ended} provider={provider} />
    case 'in':
      return <Inside key={session.me.id} api={api} me={session.me} again={ask} />
  }
}

interface InsideProps {
  again(): Promise<void>
  api: Api
  me: Myself
}

function Inside({ again, api, me }: InsideProps) {
  const words = useWords()
  const dock = useDock(api)
  const queries = useMemo(createQueries, [])
  const meters = useMemo(createMeters, [])
  const [live, setLive] = useState<LiveState>({ outdated: false })
  const clockwork = useMemo(() => ({ locale: words.locale, zone: me.site.timezone }), [words, me.site.timezone])
  useEffect(
    () =>
      startLive({
        changed: refresher(queries),
        check: () => void api.get('/auth/me').catch(() => {}),
        resync() {
          void again()
          void queries.invalidateQueries()
        },
        tell: setLive,
      }),
    [],
  )
  useEffect(() => () => [meters.end(), queries.clear()], [])
  const signOut = async (): Promise<void> => {
    dock.stop()
    await api.send('POST', '/auth/logout').catch(() => {})
    location.assign('/')
  }
  const app = { api, clockwork, dock, me, signOut: () => void signOut() }
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
