// A site without internet: the controller's own executable is what its nodes install.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { after, test } from 'node:test'
import pkg from '../../package.json' with { type: 'json' }
import { archiveName } from '../../src/system/host/release.rules.ts'
import { releaseFault } from '../../src/system/host/release.ts'
import { Controller, filesBelow, House } from '../kit/whole.ts'

const arch = process.arch as 'arm64' | 'x64'
const house = await House.open()
after(() => house.close())

test('a box with a bootstrap token gets the running executable, proves it, and it runs', async () => {
  const controller = await (await new Controller(house).start()).login()
  const node = await controller.enroll('hall')
  const { token } = await controller.post(`/nodes/${node.id}/bootstrap-token`)
  const get = (file: string, as = token) =>
    controller.raw('GET', `/nodes/${node.id}/agent-release/${file}`, { token: as })
  const sums = await (await get('SHA256SUMS')).text()
  const name = archiveName(pkg.version, arch)
  assert.match(sums, new RegExp(`^[0-9a-f]{64}  ${name}\n$`))
  const archive = house.path('got.tar.gz')
  fs.writeFileSync(archive, await (await get(archiveName('latest', arch))).bytes())
  assert.equal(await releaseFault(archive, name, { sums }), undefined)
  execFileSync('tar', ['-xzf', archive, '-C', house.dir])
  assert.equal(execFileSync(house.path('roomtone'), ['version'], { encoding: 'utf8' }), `${pkg.version}\n`)
  assert.match(fs.readFileSync(house.path('LICENSE'), 'utf8'), /MIT/)
  assert.match(fs.readFileSync(house.path('NOTICE'), 'utf8'), /better-sqlite3/)
  assert.equal((await get('latest', node.token)).status, 200)

  // After a restart it is not packed again.
  const releases = path.join(controller.data, 'releases')
  const [packed = ''] = filesBelow(releases)
  const { ino } = fs.statSync(path.join(releases, packed))
  await controller.program.end('SIGTERM')
  await controller.start()
  assert.equal((await get('latest')).status, 200)
  assert.deepEqual(
    [filesBelow(releases), fs.statSync(path.join(releases, packed)).ino],
    [[path.join('.own', name)], ino],
  )
  assert.ok(!house.said().includes(token), 'the token is nobody else’s')
})
