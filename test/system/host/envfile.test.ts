import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { test } from 'node:test'
import { parseEnvFile, writeEnvFile } from '../../../src/system/host/envfile.ts'

function inDirectory(work: (file: string) => void): void {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'envfile-'))
  try {
    work(path.join(dir, 'deep', 'agent.env'))
  } finally {
    fs.rmSync(dir, { recursive: true })
  }
}

test('a setting is replaced, another removed, and what an operator wrote stays', () =>
  inDirectory((file) => {
    writeEnvFile(file, { SVC_NODE_ID: 'node_1', SVC_NODE_ALIAS: 'old' })
    fs.writeFileSync(file, `# by hand\nOTHER=x\n\n${fs.readFileSync(file, 'utf8')}`)
    writeEnvFile(file, { SVC_NODE_ALIAS: undefined, SVC_CONTROLLER_TOKEN: 'svc_node_x', SVC_NODE_ID: 'node_2' })
    const text = fs.readFileSync(file, 'utf8')
    assert.equal(text, '# by hand\nOTHER=x\n\nSVC_NODE_ID=node_2\nSVC_CONTROLLER_TOKEN=svc_node_x\n')
    assert.equal(fs.statSync(file).mode & 0o777, 0o640)
  }))

test('any value comes back as it was', () =>
  inDirectory((file) => {
    const values = ['plain', 'two words', `it's "so"`, 'back\\slash', '$HOME `id`', 'Zürich, Saal 3', '', '#no comment']
    for (const value of values) {
      writeEnvFile(file, { SVC_NODE_ALIAS: value })
      assert.equal(parseEnvFile(fs.readFileSync(file, 'utf8')).SVC_NODE_ALIAS, value)
    }
  }))

test('a value of two lines would be two settings: it is refused, and nothing changes', () =>
  inDirectory((file) => {
    writeEnvFile(file, { SVC_NODE_ID: 'node_1' })
    for (const value of ['a\nLD_PRELOAD=/tmp/x.so', 'a\rb', 'a\0b'])
      assert.throws(() => writeEnvFile(file, { SVC_NODE_ID: value }), /SVC_NODE_ID .* one line/)
    assert.equal(fs.readFileSync(file, 'utf8'), 'SVC_NODE_ID=node_1\n')
  }))
