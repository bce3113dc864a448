import type { SettingsStore } from './settings.store.ts'

/** What stands in for what a recording or a schedule does not name. */
export type SettingsApi = Pick<SettingsStore, 'defaults'>
