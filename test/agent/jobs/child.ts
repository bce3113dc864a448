// Runs a job runner in a process of its own, to be killed: `child.ts <workDir> <command json> <hang in upload?>`.
import { createJobRunner } from '../../../src/agent/jobs/runner.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { FakeLink, job, quick, quiet } from './kit.ts'

const [workDir = '', command = '{}', settings = '{}', hang = ''] = process.argv.slice(2)
const link = new FakeLink()
if (hang === 'upload') link.onUpload = () => new Promise(() => {})
const report = () => {}
const runner = createJobRunner({
  clock: systemClock,
  link,
  log: quiet,
  report,
  settings: { ...quick, ...JSON.parse(settings) },
  workDir,
})
await runner.recover()
const parsed = JSON.parse(command)
runner.accept(link.add(...Object.entries(parsed).map(([id, c]) => job(id, c as object))))
setInterval(() => {}, 1000)
