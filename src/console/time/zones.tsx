import { keep, kept } from '../data/kept.ts'

export const ZONES_OF = ['site', 'device'] as const
/** Whose zone times are shown in. */
export type ZoneOf = (typeof ZONES_OF)[number]
const KEY = 'roomtone.zone'

export const deviceZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone
export const preferredZone = (): ZoneOf => (kept(KEY) === 'device' ? 'device' : 'site')
export const rememberZone = (of: ZoneOf): void => keep(KEY, of)

/** Zones as proposals for a field with this `list`; others are typed. */
export const Zones = ({ id }: { id: string }) => (
  <datalist id={id}>
    {['UTC', ...Intl.supportedValuesOf('timeZone')].map((name) => (
      <option key={name} value={name} />
    ))}
  </datalist>
)
