import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { SETTINGS } from '../../src/controller/config.ts'
import { allocatorOf } from '../kit/unit.ts'
import { DEPLOY } from './manifests.ts'

/** Instructions of the Dockerfile, continued lines joined: [name, rest]. */
const instructions = fs
  .readFileSync(path.join(DEPLOY, 'Dockerfile'), 'utf8')
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter(Boolean)
  .map((line) => [line.split(' ', 1)[0]!, line.slice(line.indexOf(' ') + 1)] as const)
const all = (name: string): string[] => instructions.filter(([one]) => one === name).map(([, rest]) => rest)
const last = (name: string): string => all(name).at(-1)!

test('the image runs as a number that is not root, and keeps what it has in one volume', () => {
  assert.match(last('USER'), /^[1-9]\d*:[1-9]\d*$/)
  assert.equal(last('VOLUME'), '/data')
  assert.equal(last('WORKDIR'), '/data')
  assert.deepEqual(
    [JSON.parse(last('ENTRYPOINT')), JSON.parse(last('CMD'))],
    [['/usr/local/bin/roomtone'], ['controller']],
  )
  const [uid] = last('USER').split(':')
  assert.ok(all('RUN').some((run) => run.includes(`--uid ${uid} `) && run.includes(`-o ${uid} `)))
})

test('only what is built goes in, and what goes to the builder is no more than that', () => {
  const copies = all('COPY').map((rest) => rest.split(' ').filter((word) => !word.startsWith('--')))
  assert.deepEqual(copies, [['$' + '{EXECUTABLE}', '/usr/local/bin/roomtone']])
  const sent = fs.readFileSync(path.join(DEPLOY, 'Dockerfile.dockerignore'), 'utf8').split('\n')
  const lines = sent.filter((line) => line && !line.startsWith('#'))
  assert.deepEqual(lines, ['*', '!dist/roomtone', '!dist/roomtone-linux-arm64'])
  const [, built] = all('ARG')
    .find((arg) => arg.startsWith('EXECUTABLE='))!
    .split('=')
  assert.ok(lines.includes(`!${built}`))
})

test('settings of the image are known, and none is a secret', () => {
  const set = Object.fromEntries(
    all('ENV').flatMap((rest) => [...rest.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!])),
  )
  const allocator = allocatorOf('controller')
  for (const [name, value] of Object.entries(set)) assert.ok(name in SETTINGS || allocator[name] === value, name)
  for (const name of Object.keys(allocator)) assert.ok(name in set, name)
  for (const [, rest] of instructions) assert.doesNotMatch(rest, /SVC_\w*(KEY|TOKEN|PASSWORD|SECRET)=/)
  assert.match(last('HEALTHCHECK'), /\/healthz/)
})

test('manifests run the image as it is made', () => {
  const text = fs.readFileSync(path.join(DEPLOY, 'kubernetes/base/controller.yaml'), 'utf8')
  const [user, group] = ['User', 'Group'].map((who) => new RegExp(`runAs${who}: (\\d+)`).exec(text)?.[1])
  assert.equal(`${user}:${group}`, last('USER'))
  assert.ok(text.includes(`mountPath: ${last('VOLUME')} }`))
  assert.ok(text.includes(`containerPort: ${last('EXPOSE')} }`))
})
