// Runs a job runner in a process of its own, to be killed: `child.ts <workDir> <command json> <settings> <hang>`.
// What its controller accepted lies in `<workDir>.sent/`, in the order it came.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { createJobRunner } from '../../../src/agent/jobs/runner.ts'
import type { Upload } from '../../../src/agent/link/link.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { FakeLink, job, plainEnhancer, quick, quiet } from './kit.ts'

const [workDir = '', command = '{}', settings = '{}', hang = ''] = process.argv.slice(2)
const link = new FakeLink()
if (hang === 'upload') link.onUpload = () => new Promise(() => {})

const sent = `${workDir}.sent`
fs.mkdirSync(sent, { recursive: true })
const send = link.upload.bind(link)
link.upload = async (file: Upload, signal) => {
  await send(file, signal)
  const name = [fs.readdirSync(sent).length, file.chunk ?? '', file.rendition ?? '', file.chunkTotal ?? ''].join('.')
  fs.copyFileSync(file.path, path.join(workDir, 'sending'))
  fs.renameSync(path.join(workDir, 'sending'), path.join(sent, name))
}
const runner = createJobRunner({
  clock: systemClock,
  enhancer: plainEnhancer(),
  link,
  log: quiet,
  report: () => {},
  settings: { ...quick, ...JSON.parse(settings) },
  workDir,
})
const jobs = link.add(...Object.entries(JSON.parse(command)).map(([id, c]) => job(id, c as object)))
await runner.recover()
runner.accept(jobs)
setInterval(() => {}, 1000)
