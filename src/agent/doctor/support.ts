// What a support file of a recorder has to hide: names of the takes it holds, and its settings' own.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { jsonOf } from '../../kernel/http.ts'
import { readSmall } from '../../system/host/files.ts'
import type { Row } from '../settings.rows.ts'
import { SETTINGS } from '../settings.ts'

export const settingNames: readonly string[] = (Object.values(SETTINGS) as Row[]).map(({ env }) => env)

interface AgentName {
  kind: 'recorder' | 'recording' | 'room' | 'site'
  name: string
}

const OWN = { SVC_NODE_ALIAS: 'recorder', SVC_NODE_ROOM: 'room', SVC_NODE_SITE: 'site' } as const
const TAKES = ['takes', 'kept', 'once/takes', 'once/kept']
const NAMES = /(name|title|folder|alias|site|room)$/i
const MOST_DEPTH = 8

/** Texts in a state whose key says that they are a name. */
function namesOf(value: unknown, depth = 0): string[] {
  if (typeof value !== 'object' || value === null || depth > MOST_DEPTH) return []
  return Object.entries(value).flatMap(([key, one]) =>
    typeof one === 'string' ? (NAMES.test(key) ? [one, one.replace(/\.\w+$/, '')] : []) : namesOf(one, depth + 1),
  )
}

/** Directories that hold a take with its state. */
function states(agentDir: string): string[] {
  return TAKES.flatMap((takes) => {
    const dir = path.join(agentDir, takes)
    return fs.existsSync(dir) ? fs.readdirSync(dir).map((name) => path.join(dir, name, 'state.json')) : []
  })
}

/** Names this recorder knows: its own, where it is, and those of the takes it holds. Throws errors of the disk. */
export function agentNames(env: Record<string, string | undefined>, agentDir: string): AgentName[] {
  const own = Object.entries(OWN).flatMap(([setting, kind]) => {
    const name = env[setting]
    return name === undefined ? [] : [{ kind, name }]
  })
  const held = states(agentDir).flatMap((file) => namesOf(jsonOf(readSmall(file) ?? '')))
  return [...own, ...[...new Set(held)].map((name) => ({ kind: 'recording' as const, name }))]
}
