import {
  type Query,
  QueryClient,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/preact-query'
import { useEffect, useRef } from 'preact/hooks'
import type { Change, ChangeKind } from '../../wire/changes.ts'
import type { Node } from '../../wire/nodes.ts'
import type { Room } from '../../wire/rooms.ts'
import type { Status } from '../../wire/status.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { ApiError } from './api.ts'

/** How often one thing on the screen is read again, at most; ms. */
const AGAIN_MS = 1000

export const createQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      mutations: { retry: false },
      queries: {
        gcTime: 5 * 60_000,
        networkMode: 'always',
        refetchOnWindowFocus: false,
        // What the server refuses it refuses again; a network that was gone may be back.
        retry: (count, e) => !(e instanceof ApiError && e.status < 500) && count < 2,
        staleTime: Number.POSITIVE_INFINITY,
      },
    },
  })

/**
 * A read of the API that is kept fresh by the changes of `kinds`; not made while `path` is undefined. What no change tells
 * of is read whenever it is shown, and again after `again` of it, ms.
 */
export function useRead<T>(
  path: string | undefined,
  kinds: readonly ChangeKind[],
  again: (data: T) => number | false = () => false,
): UseQueryResult<T, Error> {
  const { api } = useApp()
  return useQuery<T, Error>({
    enabled: path !== undefined,
    meta: { kinds },
    queryFn: ({ signal }) => api.get<T>(path as string, signal),
    queryKey: [path],
    refetchInterval: ({ state }) => (state.data === undefined ? false : again(state.data)),
    ...(kinds.length === 0 ? { staleTime: 0 } : {}),
  })
}

/** Rows that one answer may hold. */
const WHOLE_PAGE = 200

/** A list that the server pages, whole: one request for every 200 rows. */
export function useAll<T>(path: string, kinds: readonly ChangeKind[]): UseQueryResult<T[], Error> {
  const { api } = useApp()
  const page = (offset: number, signal: AbortSignal) =>
    api.get<{ data: T[]; meta: { total: number } }>(`${path}?limit=${WHOLE_PAGE}&offset=${offset}`, signal)
  return useQuery<T[], Error>({
    meta: { kinds },
    queryFn: async ({ signal }) => {
      const { data: rows, meta } = await page(0, signal)
      while (rows.length < meta.total) {
        const { data } = await page(rows.length, signal)
        // It may have become shorter meanwhile.
        if (data.length === 0) break
        rows.push(...data)
      }
      return rows
    },
    queryKey: [path, 'whole'],
  })
}

/** What there is and how it stands, for who may see recorders. */
export function useStatus(): UseQueryResult<{ data: Status }, Error> {
  const { me } = useApp()
  return useRead<{ data: Status }>(may(me, 'node:read') ? '/status' : undefined, ['settings', 'node', 'upload'])
}

/** The recorder of a take, for who may see recorders. */
export function useNode(id: string | undefined): UseQueryResult<{ data: Node }, Error> {
  const { me } = useApp()
  const path = id && may(me, 'node:read') ? `/nodes/${encodeURIComponent(id)}` : undefined
  return useRead<{ data: Node }>(path, ['node'])
}

/** The room of a take, for who may see it. */
export function useRoom(id: string | undefined): UseQueryResult<{ data: Room }, Error> {
  const { me } = useApp()
  const path = id && may(me, 'node:read', id) ? `/rooms/${encodeURIComponent(id)}` : undefined
  return useRead<{ data: Room }>(path, ['room'])
}

interface Sent {
  body?: unknown
  headers?: Record<string, string>
  /** GET where asking makes somebody do something: it is not repeated by itself. */
  method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT'
  path: string
}

/**
 * A write: `mutate({ method, path, body })`, or what makes that from something read before. What it changed comes back
 * through the change stream. `done` is not called where the answer comes after somebody has left the page.
 */
export function useWrite<T = unknown>(done?: (answer: T) => void) {
  const { api } = useApp()
  const queries = useQueryClient()
  const busy = useRef(false)
  const left = useRef(false)
  useEffect(
    () => () => {
      left.current = true
    },
    [],
  )
  const write = useMutation<T, Error, Sent | (() => Promise<Sent>)>({
    mutationFn: async (sent) => {
      const { body, headers, method, path } = typeof sent === 'function' ? await sent() : sent
      return await api.send<T>(method, path, body, headers)
    },
    onSuccess: (answer) => {
      if (!left.current) done?.(answer)
      refresh(queries, () => true)
    },
    onSettled() {
      busy.current = false
    },
  })
  // The second click of a double click comes before anything on the screen has changed.
  const mutate: typeof write.mutate = (sent, how) => {
    if (busy.current) return
    busy.current = true
    write.mutate(sent, how)
  }
  return { ...write, mutate }
}

/** Reads again what is shown; what this page has just deleted is not asked for while it is on its way off the screen. */
function refresh(queries: QueryClient, concerns: (query: Query) => boolean): void {
  const deleted = queries
    .getMutationCache()
    .getAll()
    .flatMap(({ state: { status, variables } }) => {
      const { method, path } = (variables ?? {}) as Partial<Sent>
      return method === 'DELETE' && path !== undefined && status !== 'error' ? [path] : []
    })
  const isGone = ({ queryKey: [read] }: Query): boolean =>
    deleted.some((path) => read === path || String(read).startsWith(`${path}/`))
  void queries.invalidateQueries({ predicate: (query) => concerns(query) && !isGone(query) })
  void queries.invalidateQueries({ predicate: (query) => concerns(query) && isGone(query), refetchType: 'none' })
}

/** Marks what a change concerns, once a second at most for each kind. */
export function refresher(queries: QueryClient, schedule = setTimeout): (change: Change) => void {
  const waiting = new Set<ChangeKind>()
  return ({ kind }) => {
    if (waiting.has(kind)) return
    waiting.add(kind)
    schedule(() => {
      waiting.delete(kind)
      refresh(queries, ({ meta }) => (meta?.kinds as ChangeKind[] | undefined)?.includes(kind) === true)
    }, AGAIN_MS)
  }
}
