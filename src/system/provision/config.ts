// Flags, environment and secret files of `usb-config` and `record`. Nothing else in this folder reads the environment.

import { parseArgs } from 'node:util'
import { misuse } from '../../kernel/fail.ts'
import { isLoopback } from '../../kernel/loopback.ts'
import { type Env, readNamedFile } from '../../kernel/settings.ts'
import { SETUP_NODES_MAX, type WantedNode } from '../../wire/provision.ts'
import type { Controller } from '../host/ask.ts'
import { roomOf, roomsOf, ttlOf } from './rooms.rules.ts'

/** An operator's account and controller. */
export interface Operator {
  /** With the address this machine uses. */
  controller: Controller
  email: string | undefined
  /** Undefined: ask for it on the terminal. */
  password: string | undefined
  /** An existing session, in place of a login. */
  session: string | undefined
}

export interface UsbConfig extends Operator {
  /** Whether to enroll another recorder for a room that has one. */
  again: boolean
  /** Whether `out` may be an ordinary directory of this machine. */
  allowLocal: boolean
  /** The controller's address for the boxes. */
  boxUrl: string
  nodes: WantedNode[]
  out: string
  overwrite: boolean
  replace: boolean
  ttlSeconds: number
  writeBack: boolean
}

export interface TakeConfig extends Operator {
  /** Address of the second box of the controller, where there is one. */
  standbyUrl: string | undefined
  node: string | undefined
  out: string
  /** Who called sudo, if anybody: the file will belong to them. */
  owner: { gid: number; uid: number } | undefined
  room: string | undefined
  seconds: number
}

const OPERATOR = {
  'allow-insecure': { type: 'boolean', default: false },
  'controller-ca': { type: 'string' },
  'controller-url': { type: 'string' },
  email: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
  'password-file': { type: 'string' },
  'session-token-file': { type: 'string' },
} as const

const OPTIONS = {
  ...OPERATOR,
  again: { type: 'boolean', default: false },
  'allow-local': { type: 'boolean', default: false },
  'api-url': { type: 'string' },
  node: { type: 'string', multiple: true, default: [] as string[] },
  out: { type: 'string' },
  overwrite: { type: 'boolean', default: false },
  replace: { type: 'boolean', default: false },
  room: { type: 'string', multiple: true, default: [] as string[] },
  'rooms-file': { type: 'string' },
  ttl: { type: 'string', default: '24h' },
  'write-back': { type: 'boolean', default: false },
} as const

/** For programs whose output is parsed. */
export const childEnv = (env: Env = process.env): Env => ({ ...env, LC_ALL: 'C' })

/** Undefined when only the help was asked for. @throws UserError, or Node's error about a flag */
export function readUsbConfig(args: string[], env: Env = process.env): UsbConfig | undefined {
  const { values: v } = parseArgs({ args, options: OPTIONS })
  if (v.help) return undefined
  const url = v['controller-url'] ?? env.SVC_CONTROLLER_URL
  if (!url) throw misuse('--controller-url is missing: the address at which the boxes reach the controller.')
  const api = v['api-url'] ?? url
  mayUse('controller-url', url, v['allow-insecure'])
  mayUse('api-url', api, v['allow-insecure'])
  if (!v.out) throw misuse('--out is missing: the directory of the stick, for example /media/me/SVC-SETUP.')
  return {
    again: v.again,
    allowLocal: v['allow-local'],
    ...operatorOf(api, v, env),
    boxUrl: url,
    nodes: nodesOf(v),
    out: v.out,
    overwrite: v.overwrite,
    replace: v.replace,
    ttlSeconds: ttlOf(v.ttl),
    writeBack: v['write-back'],
  }
}

const TAKE = {
  ...OPERATOR,
  node: { type: 'string' },
  out: { type: 'string' },
  room: { type: 'string' },
  seconds: { type: 'string', default: '10' },
  'standby-url': { type: 'string' },
} as const
const MAX_SECONDS = 3600

/** Undefined when only the help was asked for. @throws UserError, or Node's error about a flag */
export function readTake(args: string[], env: Env = process.env): TakeConfig | undefined {
  const { values: v } = parseArgs({ args, options: TAKE })
  if (v.help) return undefined
  const url = v['controller-url'] ?? env.SVC_CONTROLLER_URL
  if (!url) throw misuse('--controller-url is missing: the address of the controller.')
  mayUse('controller-url', url, v['allow-insecure'] || staysHere(url))
  const standbyUrl = v['standby-url'] ?? env.SVC_CONTROLLER_STANDBY_URL
  if (standbyUrl) mayUse('standby-url', standbyUrl, v['allow-insecure'] || staysHere(standbyUrl))
  if (!v.out) throw misuse('--out is missing: the file the take is written to, for example take.mp3.')
  const seconds = /^\d{1,4}$/.test(v.seconds) ? Number(v.seconds) : 0
  if (seconds < 1 || seconds > MAX_SECONDS) throw misuse(`--seconds expects a whole number from 1 to ${MAX_SECONDS}.`)
  const { node, out, room } = v
  const operator = operatorOf(url, v, env)
  return { ...operator, node, out, owner: askerOf(env), room, seconds, standbyUrl: standbyUrl?.replace(/\/+$/, '') }
}

/** Who called sudo. */
function askerOf({ SUDO_GID, SUDO_UID }: Env): TakeConfig['owner'] {
  const [gid, uid] = [Number(SUDO_GID), Number(SUDO_UID)]
  return process.geteuid?.() === 0 && uid > 0 && gid >= 0 ? { gid, uid } : undefined
}

interface Flags {
  'allow-insecure': boolean
  'controller-ca'?: string | undefined
  email?: string | undefined
  'password-file'?: string | undefined
  'session-token-file'?: string | undefined
}

/** @throws UserError */
function operatorOf(url: string, v: Flags, env: Env): Operator {
  const session = v['session-token-file']
    ? secret('session-token-file', v['session-token-file'])
    : env.SVC_SESSION_TOKEN
  if (!session && !v.email) throw misuse('Missing credentials: pass --email or --session-token-file.')
  return {
    controller: {
      allowInsecure: v['allow-insecure'],
      ca: v['controller-ca'] ? readNamedFile('--controller-ca', v['controller-ca']).trim() : undefined,
      url: url.replace(/\/+$/, ''),
    },
    email: v.email,
    password: v['password-file'] ? secret('password-file', v['password-file']) : undefined,
    session,
  }
}

/** On this machine nobody listens along. */
const staysHere = (url: string): boolean => URL.canParse(url) && isLoopback(new URL(url).hostname)

/** A password and tokens are sent to it. @throws UserError */
function mayUse(flag: string, url: string, allowInsecure: boolean): void {
  if (!URL.canParse(url) || !(url.startsWith('https:') || (allowInsecure && url.startsWith('http:'))))
    throw misuse(`--${flag} ${url}: pass an https:// address; plain http needs --allow-insecure.`)
}

function nodesOf(v: { node: string[]; room: string[]; 'rooms-file'?: string | undefined }): WantedNode[] {
  const table = v['rooms-file'] ? roomsOf(readNamedFile('--rooms-file', v['rooms-file'])) : []
  const nodes = [...v.room.map(roomOf), ...table, ...v.node.map((nodeId) => ({ nodeId }))]
  if (nodes.length === 0) throw misuse('Name at least one room: --room "Alias;site;room", --rooms-file or --node.')
  if (nodes.length > SETUP_NODES_MAX)
    throw misuse(`A stick holds at most ${SETUP_NODES_MAX} rooms; ${nodes.length} were given.`)
  return nodes
}

function secret(flag: string, file: string): string {
  const value = readNamedFile(`--${flag}`, file).replace(/\r?\n$/, '')
  if (value === '') throw misuse(`--${flag}: ${file} is empty.`)
  return value
}
