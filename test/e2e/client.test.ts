// A typed client that is generated from openapi.json compiles, and does its journey against the built executable.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '../kit/executable.ts'
import { ADMIN, Controller, House } from '../kit/whole.ts'

const CLIENT = path.join(ROOT, 'clients', 'typescript')
const generator = path.join(CLIENT, 'node_modules', 'openapi-typescript', 'bin', 'cli.js')
const none = fs.existsSync(generator) ? false : 'needs the generator (scripts/setup --tests)'
const run = (program: string, ...args: string[]) => promisify(execFile)(program, args, { cwd: CLIENT })

describe('the typed client', { skip: none }, () => {
  let house: House
  let controller: Controller
  before(async () => {
    fs.rmSync(path.join(CLIENT, 'schema.d.ts'), { force: true })
    await run(process.execPath, generator, path.join(ROOT, 'openapi.json'), '-o', 'schema.d.ts')
    house = await House.open()
    controller = await new Controller(house).start()
  })
  after(() => house?.close())

  test('compiles, strictly, with the compiler of this project', async () => {
    const { stdout } = await run(process.execPath, path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.')
    assert.equal(stdout, '')
  })

  test('knows every operation and leaves no answer open', () => {
    const schema = fs.readFileSync(path.join(CLIENT, 'schema.d.ts'), 'utf8')
    const { paths } = JSON.parse(fs.readFileSync(path.join(ROOT, 'openapi.json'), 'utf8'))
    const ids = Object.values(paths as Record<string, Record<string, { operationId: string }>>).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    )
    assert.ok(ids.length > 150)
    for (const id of ids) assert.ok(schema.includes(`    "${id}": {`), id)
    assert.ok(!/"application\/json": \{\s+data: unknown;/.test(schema))
  })

  test('signs in, makes a room, a recorder and a schedule, filters takes, and tells errors apart', async () => {
    const { email, password } = ADMIN
    const { stdout } = await run(process.execPath, 'journey.ts', controller.url, email, password)
    assert.deepEqual(JSON.parse(stdout), {
      conflict: [409, 'room_exists'],
      malformed: [400, ['name']],
      missing: [404, 'Room not found'],
      node: ['Aula recorder', 'aula'],
      role: ['owner'],
      schedule: ['Lecture', 'string'],
      takes: [1, true, 'queued'],
    })
  })

  test('the document of the executable is the one of the repository, with its version', async () => {
    await controller.login()
    const told = await controller.ask('GET', '/openapi.json')
    const { info, ...rest } = told.json
    const { info: written, ...file } = JSON.parse(fs.readFileSync(path.join(ROOT, 'openapi.json'), 'utf8'))
    assert.deepEqual(rest, file)
    assert.equal(info.title, written.title)
    assert.match(info.version, /^\d+\.\d+\.\d+/)
  })
})
