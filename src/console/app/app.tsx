import type { ComponentProps, ComponentType } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Myself } from '../../wire/access.ts'
import type { Wall } from '../../wire/displays.ts'
import { type Api, ApiError, createApi } from '../data/api.ts'
import { Failure } from '../ui/parts.tsx'
import type { DisplayWall } from '../wall/display.tsx'
import { loaded, takeSecret, whenPasted, whenSignedOut } from './anew.ts'
import type { Inside } from './inside.tsx'
import { Login, LoginAgain } from './login.tsx'

type Session =
  | { kind: 'asking' }
  /** A screen on a wall, which nobody is signed in at. */
  | { kind: 'display'; wall: Wall }
  | { kind: 'failed'; error: Error }
  /** `ended`: the session is over, the page with what was typed on it is not. */
  | { kind: 'in'; ended: boolean; me: Myself }
  | { kind: 'out' }

/** Nobody is in; the page of somebody who is stays, whatever the answer. */
const outside = (was: Session): Session => (was.kind === 'in' ? was : { kind: 'out' })

/** After a 401. Who opens the wall may be a screen, which is asked next. */
function leftBy(was: Session): Session {
  if (was.kind === 'in') return { ...was, ended: true }
  return was.kind === 'asking' && location.pathname === '/wall' ? was : { kind: 'out' }
}

/** Who is here decides everything: nobody, or somebody and the pages. */
export function App() {
  const [session, setSession] = useState<Session>({ kind: 'asking' })
  const [provider, setProvider] = useState<string>()
  const [renewing, setRenewing] = useState(false)
  const [linkFault, setLinkFault] = useState<Error>()
  const api = useMemo(() => createApi(() => setSession(leftBy)), [])
  const ask = async (): Promise<void> => {
    try {
      const { data } = await api.get<{ data: Myself }>('/auth/me')
      setSession({ ended: false, kind: 'in', me: data })
    } catch (e) {
      // The page of somebody who is in stays, whatever the answer.
      const failed = (): void => setSession((was) => (was.kind === 'in' ? was : { error: e as Error, kind: 'failed' }))
      if (!(e instanceof ApiError) || e.status >= 500) return failed()
      // Strangers at the same address may have used up what may be asked from there: to sign in is still possible.
      if (e.status !== 401) {
        setLinkFault(e)
        return setSession(outside)
      }
      const wall = location.pathname === '/wall' ? await readWall(api) : undefined
      setSession(wall ? { kind: 'display', wall } : outside)
    }
  }
  const expiresAt = session.kind === 'in' ? session.me.expiresAt : undefined
  const signedOut = session.kind === 'out' || (session.kind === 'in' && session.ended)
  const stay = (): void => setRenewing(false)
  const look = useMemo(() => (): void => void ask(), [])
  const again = (): void => {
    stay()
    void ask()
  }
  // There is a new session, wherever somebody signed in.
  useEffect(stay, [expiresAt])
  // Kept until it has been spent: without an answer it still is what it was.
  const link = useMemo(() => ({ screen: takeSecret(DISPLAY), token: takeSecret(SIGN_IN) }), [])
  const begin = async (): Promise<void> => {
    setLinkFault(await openByLink(api, link))
    await ask()
  }
  useEffect(() => {
    void begin()
    const unpasted = whenPasted([SIGN_IN, DISPLAY])
    const untold = whenSignedOut()
    window.addEventListener('pageshow', anew)
    return () => [unpasted(), untold(), window.removeEventListener('pageshow', anew)]
  }, [])
  useEffect(() => {
    if (!signedOut && !renewing) return
    const config = api.get<{ data: { loginAvailable: boolean; provider: string } }>('/auth/oidc/config')
    // Without an answer there is the password, which says what is wrong.
    config.then(({ data }) => setProvider(data.loginAvailable ? data.provider : undefined)).catch(() => {})
  }, [renewing, signedOut])
  useEffect(() => {
    // Whoever signs in will need it; what does not come now is asked for again then.
    if (session.kind === 'out') inside().catch(() => {})
  }, [session.kind])
  const failed = (error: Error): void => setSession({ error, kind: 'failed' })
  switch (session.kind) {
    case 'asking':
      return null
    case 'display':
      return (
        <Later<ComponentProps<typeof DisplayWall>>
          failed={failed}
          load={display}
          of={{ api, first: session.wall, over: () => setSession({ kind: 'out' }) }}
        />
      )
    case 'failed':
      return <Failure error={session.error} retry={() => void ask()} />
    case 'out':
      return (
        <Login
          api={api}
          done={() => void ask()}
          linkFault={linkFault}
          openLink={() => void begin()}
          provider={provider}
        />
      )
    case 'in':
      return (
        <>
          <Later<ComponentProps<typeof Inside>>
            key={session.me.id}
            failed={failed}
            load={inside}
            of={{ again: ask, api, ended: session.ended, me: session.me, renew: () => setRenewing(true) }}
          />
          {session.ended && <LoginAgain key="ended" api={api} done={again} look={look} provider={provider} />}
          {renewing && !session.ended && (
            <LoginAgain key="renewing" api={api} close={stay} done={again} look={look} provider={provider} />
          )}
        </>
      )
  }
}

const display = async () => (await import('../wall/display.tsx')).DisplayWall
const inside = async () => (await import('./inside.tsx')).Inside

interface LaterProps<T> {
  failed(e: Error): void
  load(): Promise<ComponentType<T>>
  of: T
}

/** What a stranger at the door need not load: nothing until it has come. */
function Later<T extends object>({ failed, load, of }: LaterProps<T>) {
  const [part, setPart] = useState<{ Part: ComponentType<T> }>()
  useEffect(() => void loaded(load).then((Part) => setPart({ Part }), failed), [])
  return part ? <part.Part {...of} /> : null
}

/** What the back button brings back as it was left may be another person's by now. */
const anew = ({ persisted }: PageTransitionEvent): void => {
  if (persisted) location.reload()
}

const DISPLAY = 'display'
const SIGN_IN = 'sign-in'

/** What this browser shows as a screen on a wall; undefined where it is none. */
async function readWall(api: Api): Promise<Wall | undefined> {
  const { data } = await api.get<{ data: Wall }>('/display').catch(() => ({ data: undefined }))
  return data
}

interface Link {
  screen: string | undefined
  token: string | undefined
}

/** Signs in by the link the page was opened with. @returns why that did not work */
async function openByLink(api: Api, { screen, token }: Link): Promise<Error | undefined> {
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
