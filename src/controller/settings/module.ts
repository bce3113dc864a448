import type { Base, Module } from '../module.ts'
import { settingsRoutes } from './settings.routes.ts'
import { type SettingsStore, settingsStore } from './settings.store.ts'

/** What stands in for what a recording or a schedule does not name. */
export type SettingsApi = Pick<SettingsStore, 'chosen'>

export function createSettings({ db }: Base): Module<SettingsApi> {
  const settings = settingsStore(db)
  return { api: settings, routes: settingsRoutes(settings) }
}
