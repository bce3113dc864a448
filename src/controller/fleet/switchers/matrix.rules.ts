// The lines of the matrix protocol: CR LF, one command or answer each.
import type { Routes } from './switchers.rules.ts'

const ROUTE = /^OUT(\d{1,3}) AS IN(\d{1,3})$/i
const FIRMWARE = /^F\/W Version\s*:\s*(.{1,80})$/i
const REJECTED = /CMD ERR/i

export const rejected = (line: string): boolean => REJECTED.test(line)

/** The route in a line, as output and input; undefined for any other line. */
function routeOf(line: string): [output: number, input: number] | undefined {
  const found = ROUTE.exec(line.trim())
  return found ? [Number(found[1]), Number(found[2])] : undefined
}

/** All routes, once there is one for every output 1..`outputs`; undefined while one is missing. */
export function routesOf(lines: readonly string[], outputs: number): Routes | undefined {
  const routes = new Map<number, number>()
  for (const line of lines) {
    const route = routeOf(line)
    if (route) routes.set(...route)
  }
  for (let output = 1; output <= outputs; output++) if (!routes.has(output)) return undefined
  return routes
}

export const firmwareOf = (lines: readonly string[]): string | undefined =>
  lines.map((line) => FIRMWARE.exec(line.trim())?.[1]?.trim()).find(Boolean)

// Network settings are never replayed: a snapshot from another network must not cut the device off.
const IDENTITY = new Set(['RIP', 'HIP', 'NMK', 'MAC', 'TIP', 'DHCP', 'ADDR', 'BAUDRATE', 'BAUDR'])
const PLAIN = /^[\x20-\x7e]{1,200}$/

/** The commands of a snapshot that are replayed: `SET ...` lines without network identity, unchanged. */
export function restorable(snapshot: string): string[] {
  return snapshot
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => /^SET\s/i.test(line) && PLAIN.test(line))
    .filter(
      (line) =>
        !line
          .toUpperCase()
          .split(/[\s:=]+/)
          .some(isIdentity),
    )
}

const isIdentity = (word: string): boolean => IDENTITY.has(word.replace(/\d+$/, ''))

/** The routes a list of commands sets. */
export function routesSet(commands: readonly string[]): Routes {
  const routes = new Map<number, number>()
  for (const command of commands) {
    const route = routeOf(command.replace(/^SET\s+/i, ''))
    if (route) routes.set(...route)
  }
  return routes
}
