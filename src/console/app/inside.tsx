import { QueryClientProvider } from '@tanstack/preact-query'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Router } from 'wouter-preact'
import type { Myself } from '../../wire/access.ts'
import { type Api, ApiError } from '../data/api.ts'
import { type LiveState, startLive } from '../data/live.ts'
import { createQueries, refresher, topicOf } from '../data/reads.ts'
import { useDock } from '../listen/dock.tsx'
import { createMeters, MetersContext } from '../meters/thread.ts'
import { deviceZone, preferredZone, rememberZone, type ZoneOf } from '../time/zones.tsx'
import { type Refusal, RefusalContext } from '../ui/refusal.ts'
import { Toasts } from '../ui/toast.tsx'
import { useWords } from '../words/words.ts'
import { tellSignedOut } from './anew.ts'
import { AppContext } from './context.ts'
import { may } from './may.rules.ts'
import { Pages } from './pages.tsx'
import { Shell } from './shell.tsx'

interface InsideProps {
  again(): Promise<void>
  api: Api
  ended: boolean
  me: Myself
  renew(): void
}

/** Everything for somebody who is signed in. */
export function Inside({ again, api, ended, me, renew }: InsideProps) {
  const words = useWords()
  const dock = useDock(api)
  const queries = useMemo(createQueries, [])
  // The session may have ended, or rights have changed: who is here is read again, and pages with it.
  const meters = useMemo(() => createMeters(() => void again()), [])
  const [live, setLive] = useState<LiveState>({ outdated: false })
  const [zoneOf, setZoneOf] = useState(preferredZone)
  const zone = zoneOf === 'device' ? deviceZone() : me.site.timezone
  const timeFormat = useMemo(() => ({ locale: words.locale, zone }), [words, zone])
  const chooseZone = (of: ZoneOf): void => {
    rememberZone(of)
    setZoneOf(of)
  }
  const refresh = useMemo(() => refresher(queries), [])
  useEffect(() => meters.rest(ended), [ended])
  useEffect(() => {
    if (ended) return () => void queries.invalidateQueries()
    return startLive({
      changed(change) {
        refresh(change)
        // The name and the clock of the site.
        if (topicOf(change) === 'settings') void again()
      },
      check: () => void api.get('/auth/me').catch(() => {}),
      resync() {
        void again()
        meters.rest(false)
        void queries.invalidateQueries()
      },
      tell: setLive,
    })
  }, [ended])
  useEffect(() => () => [meters.close(), queries.clear()], [])
  const signOut = async (): Promise<void> => {
    dock.stop()
    await api.send('POST', '/auth/logout').catch((e) => {
      // A session that has ended is what was asked for; anything else leaves it open, and must be told.
      if (!(e instanceof ApiError && e.status === 401)) throw e
    })
    tellSignedOut()
    location.assign('/')
  }
  const app = useMemo(
    () => ({ api, chooseZone, timeFormat, dock, me, refresh: again, renew, signOut, zoneOf }),
    [timeFormat, dock, me, zoneOf],
  )
  const lost = live.lostSince !== undefined
  const refusal = useMemo<Refusal>(
    () => (needs, roomId) =>
      needs && !may(me, needs, roomId) ? words.common.needs(needs) : lost ? words.live.unsent : undefined,
    [lost, me, words],
  )
  return (
    <AppContext.Provider value={app}>
      <QueryClientProvider client={queries}>
        <MetersContext.Provider value={meters}>
          <RefusalContext.Provider value={refusal}>
            <Router>
              <Toasts>
                <Shell live={live}>
                  <Pages />
                </Shell>
              </Toasts>
            </Router>
          </RefusalContext.Provider>
        </MetersContext.Provider>
      </QueryClientProvider>
    </AppContext.Provider>
  )
}
