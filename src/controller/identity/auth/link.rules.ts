import { isLoopback } from '../../../kernel/loopback.ts'

/** Where a link leads: the fragment reaches no server's log, and a program that only looks spends nothing. */
export const linkAddress = (base: string, token: string): string => `${base}/#sign-in=${token}`

/** Whether a controller that listens there can be reached on its own machine without leaving it. */
export const reachedLocally = (host: string): boolean => host === '0.0.0.0' || host === '::' || isLoopback(host)

/** The address of a controller on its own machine. */
export function localAddress(url: string): string {
  const { hostname, port, protocol } = new URL(url)
  const host = isLoopback(hostname) ? hostname : 'localhost'
  return `${protocol}//${host}${port ? `:${port}` : ''}`
}
