import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Permission } from '../../wire/permissions.ts'

/** Why something cannot be done now, by a person without `needs` or while nothing answers; undefined where it can. */
export type Refusal = (needs?: Permission, roomId?: string) => string | undefined

export const RefusalContext = createContext<Refusal>(() => undefined)
export const useRefusal = (): Refusal => useContext(RefusalContext)
