// A setup that dies in one of its steps, before its change or right after it. Arguments: directory, number of the step, when.
import * as path from 'node:path'
import { runSteps } from '../../../src/system/setup/engine.ts'
import type { Step } from '../../../src/system/setup/journal.ts'
import { benchIn, stepsIn } from './steps.ts'

const [dir = '', dying = '', when] = process.argv.slice(2)
const steps = stepsIn(dir).map((step, i): Step => {
  if (i !== Number(dying)) return step
  return {
    ...step,
    async apply(journal) {
      if (when === 'after') await step.apply(journal)
      else journal.keep(path.join(dir, step.name))
      process.kill(process.pid, 'SIGKILL')
    },
  }
})
await runSteps(steps, { say: () => {}, signal: new AbortController().signal }, benchIn(dir))
