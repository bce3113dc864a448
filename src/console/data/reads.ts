import {
  keepPreviousData,
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

/** What makes a read old: changes of a kind. Messages on their way are told of among the settings, and far more often. */
type Topic = ChangeKind | 'notifications'

export const topicOf = ({ id, kind }: Change): Topic =>
  kind === 'settings' && id?.startsWith('notifications/') ? 'notifications' : kind

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
 * A read of the API that is kept fresh by the changes of these topics; not made while `path` is undefined. What no change tells
 * of is read whenever it is shown, and again after `again` of it, ms.
 */
export function useRead<T>(
  path: string | undefined,
  topics: readonly Topic[],
  again: (data: T) => number | false = () => false,
): UseQueryResult<T, Error> {
  const { api } = useApp()
  return useQuery<T, Error>({
    enabled: path !== undefined,
    meta: { topics },
    queryFn: ({ signal }) => api.get<T>(path as string, signal),
    queryKey: [path],
    refetchInterval: ({ state }) => (state.data === undefined ? false : again(state.data)),
    ...(topics.length === 0 ? { staleTime: 0 } : {}),
  })
}

/**
 * What the API answers to a body (JSON) where that changes nothing, as a preview; not asked while that is undefined. The last
 * answer stays until the next has come.
 */
export function useAnswer<T>(path: string, body: string | undefined): UseQueryResult<T, Error> {
  const { api } = useApp()
  return useQuery<T, Error>({
    enabled: body !== undefined,
    placeholderData: keepPreviousData,
    queryFn: () => api.send<T>('POST', path, JSON.parse(body as string)),
    queryKey: [path, body],
  })
}

/** Rows that one answer may hold. */
const WHOLE_PAGE = 200

/** A list that the server pages, whole: one request for every 200 rows. */
export function useAll<T>(path: string, topics: readonly Topic[]): UseQueryResult<T[], Error> {
  const { api } = useApp()
  const page = (offset: number, signal: AbortSignal) =>
    api.get<{ data: T[]; meta: { total: number } }>(`${path}?limit=${WHOLE_PAGE}&offset=${offset}`, signal)
  return useQuery<T[], Error>({
    meta: { topics },
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

/** Marks what a change concerns, once a second at most for each topic. */
export function refresher(queries: QueryClient, schedule = setTimeout): (change: Change) => void {
  const waiting = new Set<Topic>()
  return (change) => {
    const topic = topicOf(change)
    if (waiting.has(topic)) return
    waiting.add(topic)
    schedule(() => {
      waiting.delete(topic)
      refresh(queries, ({ meta }) => (meta?.topics as Topic[] | undefined)?.includes(topic) === true)
    }, AGAIN_MS)
  }
}
