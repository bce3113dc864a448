import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Myself } from '../../wire/access.ts'
import type { Api } from '../data/api.ts'
import type { Dock } from '../listen/dock.tsx'
import type { TimeFormat } from '../time/format.rules.ts'
import type { ZoneOf } from '../time/zones.tsx'

export interface AppContext {
  api: Api
  /** Whose zone times are shown in: the site's, or that of this browser. */
  chooseZone(of: ZoneOf): void
  timeFormat: TimeFormat
  dock: Dock
  me: Myself
  /** Reads again who is here. */
  refresh(): Promise<void>
  /** Signs in again over the page, before the session ends. */
  renew(): void
  signOut(): Promise<void>
  zoneOf: ZoneOf
}

export const AppContext = createContext<AppContext | undefined>(undefined)

/** What every page is given. @throws Error outside of a signed-in page */
export function useApp(): AppContext {
  const app = useContext(AppContext)
  if (!app) throw new Error('used outside of a signed-in page')
  return app
}
