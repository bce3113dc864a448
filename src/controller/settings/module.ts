import type { Base, Module } from '../module.ts'
import type { SettingsApi } from './api.ts'
import { settingsRoutes } from './settings.routes.ts'
import { settingsStore } from './settings.store.ts'

/** Name, defaults and preferences of this controller. */
export function createSettings({ db }: Base): Module<SettingsApi> {
  const settings = settingsStore(db)
  return { api: settings, routes: settingsRoutes(settings) }
}
