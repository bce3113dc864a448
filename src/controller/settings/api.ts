import type { SettingsStore } from './settings.store.ts'

/** Defaults for what a recording or a schedule does not name. */
export type SettingsApi = Pick<SettingsStore, 'defaults' | 'site'>
