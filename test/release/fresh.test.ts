// A clone in which nothing was installed yet: what package.json offers sets itself up first.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'

const ROOT = path.resolve(import.meta.dirname, '..', '..')
fs.mkdirSync(path.join(ROOT, '.cache'), { recursive: true })
// Beside the installed packages: hard links do not leave a disk.
const scratch = fs.mkdtempSync(path.join(ROOT, '.cache', 'fresh-'))
after(() => fs.rmSync(scratch, { recursive: true }))

/** The sources without what git passes over. */
function clone(name: string): string {
  const to = path.join(scratch, name)
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT })
  for (const file of String(files).split('\0'))
    if (file && !file.startsWith('test/') && fs.existsSync(path.join(ROOT, file)))
      fs.cpSync(path.join(ROOT, file), path.join(to, file))
  return to
}

/** Has the packages of this checkout in place of fetching them. */
function npm(): string {
  const bin = path.join(scratch, 'bin')
  fs.mkdirSync(bin, { recursive: true })
  const script = `#!/bin/sh\n[ "$1" = ci ] && cp -al '${ROOT}/node_modules' . && rm -f node_modules/.setup-lock\n`
  fs.writeFileSync(path.join(bin, 'npm'), script, { mode: 0o755 })
  return bin
}

const { scripts } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'))

for (const name of ['build', 'package', 'release'])
  test(`npm run ${name} sets a fresh clone up, and tells its options`, async () => {
    const cwd = clone(name)
    const env = { ...process.env, PATH: `${npm()}:${process.env.PATH}` }
    const say = (option: string) => promisify(execFile)('sh', ['-c', `${scripts[name]} ${option}`], { cwd, env })
    const { stderr, stdout } = await say('--help')
    assert.match(stderr, /^setup: npm ci/)
    assert.match(stdout, new RegExp(`^usage: npm run ${name} -- \\[--`, 'm'))
    await assert.rejects(say('--nope'), (e: { code: number; stderr: string }) => {
      assert.equal(e.code, 2)
      assert.match(e.stderr, /^Unknown option '--nope'\n\n[\s\S]*usage: /)
      assert.doesNotMatch(e.stderr, /^ {4}at /m)
      return true
    })
  })
