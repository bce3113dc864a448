import { randomUUID } from 'node:crypto'

export type IdKind = 'node' | 'rec' | 'job' | 'cap' | 'room' | 'recording_profile' | 'access_policy' | 'take'

/** Makes ids; injected so that tests can count instead of drawing lots. */
export interface Ids {
  /** `<kind>_<uuid>`. */
  make(kind: IdKind): string
  /** Bare UUID: interfaces, users, sessions, credentials, audit and health events. */
  uuid(): string
}

export const randomIds: Ids = { make: (kind) => `${kind}_${randomUUID()}`, uuid: () => randomUUID() }
