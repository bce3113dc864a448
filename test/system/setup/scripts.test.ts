// The shell scripts as a shell sees them; what they do on a box is in test/vm.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as path from 'node:path'
import { test } from 'node:test'
import { run } from '../../../src/system/host/run.ts'
import { installLine, shellQuoted } from '../../../src/wire/install.ts'

const SCRIPTS = ['install-agent.sh', 'install-controller.sh'].map((name) =>
  path.join(import.meta.dirname, '..', '..', '..', 'scripts', name),
)
const checker = ['/usr/bin', '/usr/local/bin'].map((dir) => `${dir}/shellcheck`).find((file) => existsSync(file))

for (const script of SCRIPTS) {
  const name = path.basename(script)
  test(`${name} is clean`, { skip: checker ? false : 'no shellcheck here' }, () => {
    execFileSync(checker as string, [script], { stdio: 'pipe' })
  })
  test(`${name} tells its options, and what it does not know`, async () => {
    assert.match((await run('sh', [script, '--help'])).stdout, /--uninstall/)
    const unknown = await run('sh', [script, '--what', 'x'])
    assert.deepEqual([unknown.code, /there is no option --what/.test(unknown.stderr)], [2, true])
    assert.equal((await run('sh', [script, '--version'])).code, 2)
  })
  test(`${name} does nothing when it was cut off on its way`, async () => {
    const whole = execFileSync('cat', [script], { encoding: 'utf8' }).trimEnd()
    // Within its last line, and before it: without its arguments it would be another install than was asked for.
    for (let end = whole.lastIndexOf('\n'); end < whole.length; end++) {
      const { stdout, stderr } = await run('sh', ['-s', '--', '--uninstall'], { input: whole.slice(0, end) })
      assert.deepEqual({ said: /install-/.test(stderr), stdout }, { said: false, stdout: '' }, whole.slice(end))
    }
  })
}

const HOSTILE = `it's "$HOME" \`id\` $(id) \\ ; rm -rf / # ü\t!`

test('a quoted value is one word for a shell, whatever is in it', async () => {
  const { stdout } = await run('sh', ['-c', `printf %s ${shellQuoted(HOSTILE)}`])
  assert.equal(stdout, HOSTILE)
})

for (const [what, curl] of [
  ['gives nothing', 'return 22'],
  ['breaks off', 'printf "set -eu\\nmain() {\\n  tr"; return 18'],
  ['breaks off within a line', 'printf "set -"; return 18'],
] as const)
  test(`a download that ${what} is no success of the line`, async () => {
    const line = installLine({ controllerUrl: 'https://recorder.example', nodeId: 'node_1', token: 'svc_bs_abc' })
    const stage = `curl() { ${curl}; }; sudo() { "$@"; }; ${line}`
    assert.notEqual((await run('sh', ['-c', stage])).code, 0)
  })

test('the line gives every value as it is, and the token to nobody but the script', async () => {
  const line = installLine({
    controllerCa: HOSTILE,
    controllerUrl: 'https://recorder.example',
    nodeId: 'node_1',
    room: HOSTILE,
    token: 'svc_bs_abc-DEF_1',
  })
  // In place of the programs it calls: one that says what it was called with, and one that shows what came on the pipe.
  const stage = `curl() { echo "curl: $# $2"; }; sudo() { printf '%s|' "$@"; echo; cat; }; ${line}`
  const { stdout } = await run('sh', ['-c', stage])
  const [call, first, second] = stdout.split('\n')
  assert.equal(call, `sh|-s|--|--controller-ca|${HOSTILE}|--node-id|node_1|--room|${HOSTILE}|`)
  assert.equal(first, 'SVC_BOOTSTRAP_TOKEN=svc_bs_abc-DEF_1')
  assert.equal(second, 'curl: 8 --proto')
  assert.throws(() => installLine({ controllerUrl: 'https://a', nodeId: 'n', token: "x'; id" }), /one word/)
})
