// The only reader of the environment here, and of what an operator gives `roomtone usb-config`: flags and files of secrets.
import * as fs from 'node:fs'
import { parseArgs } from 'node:util'
import type { Controller } from '../host/ask.ts'
import { faultWords } from '../kernel/words.ts'
import { SETUP_NODES_MAX, type WantedNode } from '../wire/provision.ts'
import { BadRooms, roomOf, roomsOf, ttlOf } from './rooms.rules.ts'

export interface UsbConfig {
  /** Whether a room that has a recorder gets another one. */
  again: boolean
  /** Whether `out` may be a directory of this machine. */
  allowLocal: boolean
  /** As the boxes reach the controller. */
  boxUrl: string
  /** As this machine reaches it. */
  controller: Controller
  email: string | undefined
  nodes: WantedNode[]
  out: string
  overwrite: boolean
  /** Undefined: it is asked for at the terminal. */
  password: string | undefined
  replace: boolean
  /** A session that exists is used in place of a login. */
  session: string | undefined
  ttlSeconds: number
  writeBack: boolean
}

const OPTIONS = {
  again: { type: 'boolean', default: false },
  'allow-insecure': { type: 'boolean', default: false },
  'allow-local': { type: 'boolean', default: false },
  'api-url': { type: 'string' },
  'controller-ca': { type: 'string' },
  'controller-url': { type: 'string' },
  email: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
  node: { type: 'string', multiple: true, default: [] as string[] },
  out: { type: 'string' },
  overwrite: { type: 'boolean', default: false },
  'password-file': { type: 'string' },
  replace: { type: 'boolean', default: false },
  room: { type: 'string', multiple: true, default: [] as string[] },
  'rooms-file': { type: 'string' },
  'session-token-file': { type: 'string' },
  ttl: { type: 'string', default: '24h' },
  'write-back': { type: 'boolean', default: false },
} as const

type Env = Record<string, string | undefined>

/** For programs whose words are read: they say them in English. */
export const childEnv = (env: Env = process.env): Env => ({ ...env, LC_ALL: 'C' })

/** Undefined when only the help was asked for. @throws BadRooms, or node's own words about a flag */
export function readUsbConfig(args: string[], env: Env = process.env): UsbConfig | undefined {
  const { values: v } = parseArgs({ args, options: OPTIONS })
  if (v.help) return undefined
  const url = v['controller-url'] ?? env.SVC_CONTROLLER_URL
  if (!url) throw new BadRooms('--controller-url is missing: the address by which the boxes reach the controller.')
  const api = v['api-url'] ?? url
  mayUse('controller-url', url, v['allow-insecure'])
  mayUse('api-url', api, v['allow-insecure'])
  if (!v.out) throw new BadRooms('--out is missing: the directory of the stick, for example /media/me/SVC-SETUP.')
  const session = v['session-token-file']
    ? secret('session-token-file', v['session-token-file'])
    : env.SVC_SESSION_TOKEN
  if (!session && !v.email) throw new BadRooms('Say who you are: --email, or --session-token-file.')
  return {
    again: v.again,
    allowLocal: v['allow-local'],
    boxUrl: url,
    controller: {
      allowInsecure: v['allow-insecure'],
      ca: v['controller-ca'] ? text('controller-ca', v['controller-ca']).trim() : undefined,
      url: api.replace(/\/+$/, ''),
    },
    email: v.email,
    nodes: nodesOf(v),
    out: v.out,
    overwrite: v.overwrite,
    password: v['password-file'] ? secret('password-file', v['password-file']) : undefined,
    replace: v.replace,
    session,
    ttlSeconds: ttlOf(v.ttl),
    writeBack: v['write-back'],
  }
}

/** A password and tokens travel to it. @throws BadRooms */
function mayUse(flag: string, url: string, allowInsecure: boolean): void {
  if (!URL.canParse(url) || !(url.startsWith('https:') || (allowInsecure && url.startsWith('http:'))))
    throw new BadRooms(`--${flag} ${url}: give an https:// address; plain http needs --allow-insecure.`)
}

function nodesOf(v: { node: string[]; room: string[]; 'rooms-file'?: string | undefined }): WantedNode[] {
  const table = v['rooms-file'] ? roomsOf(text('rooms-file', v['rooms-file'])) : []
  const nodes = [...v.room.map(roomOf), ...table, ...v.node.map((nodeId) => ({ nodeId }))]
  if (nodes.length === 0)
    throw new BadRooms('Name at least one room: --room "Alias;site;room", --rooms-file or --node.')
  if (nodes.length > SETUP_NODES_MAX)
    throw new BadRooms(`One stick holds ${SETUP_NODES_MAX} rooms at most; these are ${nodes.length}.`)
  return nodes
}

/** `-` is standard input. @throws BadRooms */
function text(flag: string, file: string): string {
  try {
    return fs.readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (e) {
    throw new BadRooms(`--${flag} cannot be read: ${faultWords(e, file)}.`)
  }
}

function secret(flag: string, file: string): string {
  const value = text(flag, file).replace(/\r?\n$/, '')
  if (value === '') throw new BadRooms(`--${flag}: there is nothing in ${file}.`)
  return value
}
