import assert from 'node:assert/strict'
import * as path from 'node:path'
import { test } from 'node:test'
import { blank, lineOf, places, type Source, sources } from './source.ts'

interface Floor {
  /** Floors that may be imported besides the own one. */
  may: string[]
  packages: string[]
}

// The house, as data. `domain` is every folder of src/controller that has no row of its own; the parts of src/system have
// theirs.
const CONTROLLER = ['kernel', 'wire', 'crypto', 'store', 'http', 'scheduler', 'base']
const PROGRAMS = ['controller', 'cli', 'agent', 'lifecycle', 'setup', 'maintain', 'provision', 'tls', 'doctor']
const FLOORS: Record<string, Floor> = {
  kernel: { may: [], packages: [] },
  wire: { may: ['kernel'], packages: ['zod'] },
  crypto: { may: ['kernel'], packages: ['@noble/hashes', '@noble/ciphers'] },
  store: { may: ['kernel'], packages: ['better-sqlite3'] },
  // What every module is given: types, and the events they hear of each other by.
  base: { may: ['kernel', 'wire', 'crypto', 'store', 'http', 'scheduler', 'controller'], packages: [] },
  http: { may: ['kernel', 'wire', 'store', 'crypto'], packages: ['hono', '@hono/node-server', 'zod'] },
  scheduler: { may: ['kernel'], packages: ['croner'] },
  domain: { may: [...CONTROLLER, 'host'], packages: [] },
  // lifecycle: on a site of one box the controller does the runner's work itself (SVC_LIFECYCLE_EMBEDDED).
  controller: { may: [...CONTROLLER, 'domain', 'host', 'lifecycle'], packages: ['zod'] },
  cli: { may: [...CONTROLLER, 'domain', 'controller', 'host', 'checks'], packages: [] },
  host: { may: ['kernel'], packages: [] },
  // What `roomtone doctor` asks of any box.
  checks: { may: ['kernel', 'wire', 'host'], packages: [] },
  agent: { may: ['kernel', 'wire', 'crypto', 'host', 'checks'], packages: ['zod'] },
  lifecycle: { may: ['kernel', 'wire', 'crypto', 'host', 'checks'], packages: ['zod'] },
  setup: { may: ['kernel', 'wire', 'crypto', 'host'], packages: ['zod'] },
  maintain: { may: ['kernel', 'wire', 'crypto', 'host', 'setup'], packages: ['zod'] },
  provision: { may: ['kernel', 'wire', 'crypto', 'host', 'setup'], packages: ['zod'] },
  tls: { may: ['kernel', 'wire', 'host'], packages: ['zod'] },
  doctor: { may: ['kernel', 'wire', 'host', 'checks', 'agent', 'cli', 'lifecycle'], packages: ['zod'] },
  console: { may: ['kernel', 'wire'], packages: ['preact', '@tanstack/preact-query', 'uqr', 'wouter-preact'] },
  main: { may: ['kernel', ...PROGRAMS], packages: [] },
}
// A driver's own library, in its X.<name>.ts only.
const DRIVERS: Record<string, string[]> = {
  'src/kernel/settings.ts': ['zod'],
  'src/agent/enhance/deep.onnx.ts': ['onnxruntime-web'],
  'src/controller/identity/auth/oidc.openid.ts': ['openid-client'],
  'src/controller/notifications/transports/email.nodemailer.ts': ['nodemailer'],
  'src/controller/monitoring/status/metrics.prometheus.ts': ['prom-client'],
  'src/system/tls/authority.x509.ts': ['@peculiar/asn1-schema', '@peculiar/asn1-x509'],
  'src/controller/succession/lease.s3.ts': ['@aws-sdk/client-s3'],
  'src/controller/uploads/drivers.s3.ts': ['@aws-sdk/client-s3', '@aws-sdk/lib-storage'],
  'src/controller/uploads/drivers.s3.bucket.ts': ['@aws-sdk/client-s3'],
  'src/controller/uploads/drivers.s3.verify.ts': ['@aws-sdk/client-s3'],
  'src/controller/uploads/library/objects.s3.ts': ['@aws-sdk/client-s3', '@aws-sdk/s3-request-presigner'],
}

// On a site of one box the controller does the runner's work itself (SVC_LIFECYCLE_EMBEDDED).
const ALSO: Record<string, string[]> = { 'src/controller/fleet/lifecycle/embedded.ts': ['lifecycle'] }
/** Floors that are handed the settings. */
const CONFIGURED = ['base', 'domain']

interface Import {
  from: string
  line: number
  lazy: boolean
  typeOnly: boolean
}

/** Static, re-exporting, type-only and lazy imports of a source. */
function importsOf({ text }: Source): Import[] {
  const structure = blank(text)
  return [...text.matchAll(/\b(?:from|import\s*(\(?))\s*['"]([^'"\n]+)['"]/g)]
    .filter((match) => /^(from|import)/.test(structure.slice(match.index)))
    .map((match) => ({
      from: match[2] as string,
      line: lineOf(text, match.index),
      lazy: match[1] === '(',
      typeOnly: /(^|\n)import type [^'"]*$/.test(structure.slice(0, match.index)),
    }))
}

/** Files of src/controller that every module may know. */
const BASE = ['events.ts', 'module.ts', 'secrets.ts']

const floorOf = (file: string): string => {
  const [, top = '', folder = '', ...deeper] = file.split('/')
  if (!folder) return top.replace(/\.ts$/, '')
  if (top === 'system') return folder
  if (top === 'controller' && BASE.includes(folder)) return 'base'
  if (top !== 'controller' || deeper.length === 0) return top
  return Object.hasOwn(FLOORS, folder) ? folder : 'domain'
}

/** `fleet` of `src/controller/fleet/nodes/nodes.store.ts`. */
const moduleOf = (file: string): string => file.split('/')[2] ?? ''
const packageOf = (from: string): string =>
  from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/')
const targetOf = (file: string, from: string): string => path.normalize(path.join(path.dirname(file), from))

/** What is wrong with one import, in a sentence; undefined when it is allowed. */
function fault(file: string, imported: Import): string | undefined {
  const floor = floorOf(file)
  const rule = FLOORS[floor]
  if (!rule)
    return `src has no floor called ${floor}: a new folder gets a row in FLOORS of this file and one in docs/architecture.md`
  const { from } = imported
  if (from.startsWith('node:'))
    return isRules(file)
      ? `rules are pure, without ${from}: their caller asks it, and hands over the answer`
      : undefined
  if (!from.startsWith('.')) {
    // The table of a module's settings is made of schemas.
    const schemas = file.endsWith('/settings.ts') ? ['zod'] : []
    const allowed = [...rule.packages, ...(DRIVERS[file] ?? []), ...schemas]
    return allowed.includes(packageOf(from))
      ? undefined
      : `${nameOf(file)} may not import the package ${packageOf(from)}: schemas belong in src/wire, a driver's own library in one X.<name>.ts (DRIVERS of this file)`
  }
  if (floor === 'console' ? !/\.(css|tsx?)$/.test(from) : !from.endsWith('.ts')) return 'imports end in .ts'
  if (from.endsWith('.css')) return undefined
  return floorFault(file, targetOf(file, from), imported)
}

const isRules = (file: string): boolean => file.endsWith('.rules.ts')
/** What a sentence calls the part of the house that a file is in. */
const nameOf = (file: string): string => (floorOf(file) === 'domain' ? `the module ${moduleOf(file)}` : floorOf(file))

function floorFault(file: string, target: string, { lazy, typeOnly }: Import): string | undefined {
  const [floor, to] = [floorOf(file), floorOf(target)]
  if (ALSO[file]?.includes(to) || (typeOnly && target === 'src/controller/config.ts' && CONFIGURED.includes(floor)))
    return
  if (isRules(file) && /\.(store|routes|runner)\.ts$/.test(target) && !typeOnly)
    return `rules are pure, without ${target}: import its types, and take what it gives as a parameter`
  if (floor === 'main' && PROGRAMS.includes(to))
    return lazy ? undefined : `main loads only the program that is named: await import('${target}') where it is needed`
  if (floor === 'domain' && to === 'domain' && moduleOf(file) !== moduleOf(target))
    return wallFault(file, target, typeOnly)
  if (floor !== to && !FLOORS[floor]?.may.includes(to))
    return `${nameOf(file)} may not import ${to} (${target}): take it as a parameter, or move what both need to a floor both may import (${rule(floor)})`
}

/** The walls between modules: the types of an api cross them, and pure rules, which hold nothing. */
function wallFault(file: string, target: string, typeOnly: boolean): string | undefined {
  if (/\.rules\.ts$/.test(target)) return undefined
  const [own, other] = [moduleOf(file), moduleOf(target)]
  if (!target.endsWith('/api.ts'))
    return `${own} may not import ${target}: take what you need of ${other} from its api (import type from ${other}/.../api.ts, and name it in the Deps of your module.ts), or hear of it through src/controller/events.ts`
  return typeOnly ? undefined : `${own} may import only types from ${target}: app.ts hands over the thing itself`
}

const rule = (floor: string): string => (FLOORS[floor]?.may ?? []).join(', ') || 'it stands on none'

const faults = (source: Source): string[] =>
  importsOf(source).flatMap((imported) => {
    const why = fault(source.file, imported)
    return why ? [`${source.file}:${imported.line} ${why}`] : []
  })

/** The first cycle in a graph of names, as a path; undefined when there is none. */
function cycle(edges: Map<string, Set<string>>): string[] | undefined {
  const done = new Set<string>()
  const walk = (at: string, trail: string[]): string[] | undefined => {
    if (trail.includes(at)) return [...trail.slice(trail.indexOf(at)), at]
    if (done.has(at)) return undefined
    for (const next of edges.get(at) ?? []) {
      const found = walk(next, [...trail, at])
      if (found) return found
    }
    done.add(at)
  }
  for (const name of edges.keys()) {
    const found = walk(name, [])
    if (found) return found
  }
}

/** Who imports whom, types included. */
const graph = (all: Source[]): Map<string, Set<string>> =>
  new Map(
    all.map((source) => {
      const own = importsOf(source).filter(({ from }) => from.startsWith('.'))
      return [source.file, new Set(own.map(({ from }) => targetOf(source.file, from)))]
    }),
  )

const all = sources(['src'], ['.ts', '.tsx']).filter(({ file }) => !file.endsWith('.d.ts'))
const everywhere = (pattern: RegExp, except: string[] = []): string[] =>
  all.filter(({ file }) => !except.includes(file)).flatMap((source) => places(source, pattern))

test('every import follows the table of floors', () => {
  assert.deepEqual(all.flatMap(faults), [])
})

test('files do not import each other in a circle, types included', () => {
  assert.equal(cycle(graph(all)), undefined, 'a circle: move what two of them need into a file of its own')
})

// Programs, threads, and what the console's page loads by itself.
const BEGINS = /^src\/main\.ts$|\.(worker|thread)\.ts$|^src\/console\/(first\.ts|main\.tsx)$/

test('a file that is no beginning is imported by another one', () => {
  const imported = new Set([...graph(all).values()].flatMap((targets) => [...targets]))
  assert.deepEqual(
    all.map(({ file }) => file).filter((file) => !imported.has(file) && !BEGINS.test(file)),
    [],
    'nobody imports it: a module belongs into createApp (src/controller/app.ts), routes, runners and stores into their module.ts, settings into src/controller/config.ts',
  )
})

test('every module that is made is in the list of modules', () => {
  const app = all.find(({ file }) => file === 'src/controller/app.ts')?.text ?? ''
  const [, list = ''] = /const modules: [^=]*= \[([\s\S]*?)\n {2}\]/.exec(app) ?? []
  const made = [...app.matchAll(/const (\w+) = create\w+\(base\b/g)].map(([, name = '']) => name)
  assert.ok(made.length > 10, `${made.length} modules`)
  assert.deepEqual(
    made.filter((name) => !new RegExp(`\\b${name}\\b`).test(list)),
    [],
    'add it to `modules` in createApp: without that it has no routes, no runners, no start and no stop',
  )
})

test('programs are started in one place', () => {
  const starting = all.filter((source) => importsOf(source).some(({ from }) => from === 'node:child_process'))
  assert.deepEqual(
    starting.map(({ file }) => file),
    ['src/system/host/run.ts'],
    'start programs with `run` (src/system/host/run.ts): it has their limits, signals and priority',
  )
})

test('no default export, no re-export, no index.ts: a name has one home', () => {
  assert.deepEqual(everywhere(/\bexport\s+default\b/g), [])
  assert.deepEqual(everywhere(/\bexport\s+(type\s+)?(\*|\{[^}]*\})[^\n]*\bfrom\b/g), [])
  assert.deepEqual(
    all.map(({ file }) => file).filter((file) => path.basename(file) === 'index.ts'),
    [],
  )
})

test('no require, and no import whose target is not a literal', () => {
  assert.deepEqual(everywhere(/\b(require|createRequire)\s*\(/g), [])
  assert.deepEqual(everywhere(/\bimport\s*\(\s*[^'"\s]/g), [])
})

test('the guard sees what it must see', () => {
  const bad: [string, string][] = [
    ['src/kernel/a.ts', "import { b } from '../wire/b.ts'"],
    ['src/kernel/a.ts', "import * as z from 'zod'"],
    ['src/wire/a.ts', "import type { Hono } from 'hono'"],
    ['src/agent/jobs/a.ts', "import type { Db } from '../../controller/store/db.ts'"],
    ['src/agent/agent.ts', "const x = await import('../controller/store/db.ts')"],
    ['src/controller/fleet/rooms/rooms.routes.ts', "import { x } from '../../uploads/queue.store.ts'"],
    ['src/controller/fleet/rooms/rooms.routes.ts', "import type { X } from '../../uploads/queue.store.ts'"],
    ['src/controller/fleet/rooms/rooms.routes.ts', "import { x } from '../../uploads/api.ts'"],
    ['src/controller/fleet/rooms/rooms.store.ts', "import Database from 'better-sqlite3'"],
    ['src/controller/fleet/rooms/rooms.rules.ts', "import * as fs from 'node:fs'"],
    ['src/controller/fleet/rooms/rooms.rules.ts', "import { roomStore } from './rooms.store.ts'"],
    ['src/controller/fleet/rooms/rooms.routes.ts', "import { readConfig } from '../../config.ts'"],
    ['src/main.ts', "import { main } from './agent/agent.ts'"],
    ['src/wire/a.ts', "import { b } from './b'"],
    ['src/new/a.ts', "import { b } from './b.ts'"],
    ['src/wire/a.ts', "import {\n  type B,\n} from '../crypto/b.ts'"],
  ]
  for (const [file, text] of bad) assert.equal(faults({ file, text }).length, 1, `${file}: ${text}`)
  const good: [string, string][] = [
    ['src/controller/fleet/rooms/rooms.routes.ts', "import { x } from '../nodes/nodes.store.ts'"],
    ['src/controller/fleet/module.ts', "import type { UploadsApi } from '../uploads/api.ts'"],
    ['src/controller/fleet/module.ts', "import type { Config } from '../config.ts'"],
    ['src/controller/fleet/module.ts', "import { x } from '../uploads/queue.rules.ts'"],
    ['src/controller/fleet/rooms/rooms.rules.ts', "import type { Row } from './rooms.store.ts'"],
    ['src/main.ts', "const x = () => import('./agent/agent.ts')"],
    ['src/kernel/a.ts', "// from 'zod'\nconst sql = `DELETE from 'zod'` + \"x from 'hono'\" + Buffer.from('zod')"],
  ]
  for (const [file, text] of good) assert.deepEqual(faults({ file, text }), [], `${file}: ${text}`)
  assert.deepEqual(
    cycle(
      new Map([
        ['a', new Set(['b'])],
        ['b', new Set(['c'])],
        ['c', new Set(['b'])],
      ]),
    ),
    ['b', 'c', 'b'],
  )
})
