import type { UseQueryResult } from '@tanstack/preact-query'
import type { Room } from '../../wire/rooms.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead } from '../data/reads.ts'

/** The room of a take, for who may see rooms. */
export function useRoom(id: string | undefined): UseQueryResult<{ data: Room }, Error> {
  const { me } = useApp()
  const path = id && may(me, 'node:read', id) ? `/rooms/${encodeURIComponent(id)}` : undefined
  return useRead<{ data: Room }>(path, ['room'])
}
