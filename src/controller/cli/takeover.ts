// roomtone takeover: makes the standby on this box the controller.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { misuse } from '../../kernel/fail.ts'
import { isListening, sendTakeoverRequest } from '../succession/control.ts'
import { ENVIRONMENT_HELP, runVerb, say } from './verb.ts'

const HELP = `usage: roomtone takeover [--unplanned [--force]]

Makes the standby on this box the controller. The controller on the other box is asked to hand over: it stops, and nothing is
lost. Recorders and people find this box by the second address they were given.

  --unplanned   without asking, because the other box is dead. What it acknowledged in its last seconds may be missing.
  --force       with --unplanned: even if the other box still answers. It stops serving when it next looks at the lease.

${ENVIRONMENT_HELP}
`

export const main = (args: string[]): Promise<number> =>
  runVerb(args, {
    help: HELP,
    options: { force: { type: 'boolean' }, unplanned: { type: 'boolean' } },
    run: async ([more], { force, unplanned }, place) => {
      if (more) throw misuse(`unexpected argument "${more}": see roomtone takeover --help`)
      if (force && !unplanned) throw misuse('--force goes with --unplanned: see roomtone takeover --help')
      const dir = place.config.SVC_DATA_DIR
      if (!(await isListening(dir)))
        throw misuse(
          `No standby runs on this box with the data directory ${dir}: it is the controller already, or has to follow first ` +
            '(docs/standby.md: Set up, Back again), until its page says ready.',
        )
      const copy = path.join(dir, 'standby', 'roomtone.db')
      if (!fs.existsSync(copy)) throw misuse('The standby has no copy of the database yet: its page says why.')
      const request = { force: Boolean(force), planned: !unplanned }
      return say(`${await sendTakeoverRequest(dir, request, (sentence) => void say(`${sentence}\n`))}\n`)
    },
  })
