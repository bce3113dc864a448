// roomtone standby: follows the controller on another box, and becomes the controller when it is told to.
import { systemClock } from '../kernel/clock.ts'
import { misuse } from '../kernel/fail.ts'
import type { Outlets } from '../kernel/logsink.ts'
import { settingsHelp } from '../kernel/settings.ts'
import { faultWords } from '../kernel/words.ts'
import { readConfig } from './config.ts'
import { start } from './controller.ts'
import { type PairBox, runPairMember, type StandbyRole } from './pair.ts'
import { shutIn } from './sealed.store.ts'
import { Db } from './store/db.ts'
import { listenForTakeoverRequests } from './succession/control.ts'
import { Follower } from './succession/follower.ts'
import { SUCCESSION_SETTINGS } from './succession/settings.ts'
import { answers, type TakeoverRequest, takeOver } from './succession/takeover.ts'

const HELP = `usage: roomtone standby

Runs on a second box until SIGTERM: keeps a checked copy of the controller's database, restored from its replica, and answers
/healthz, /status and a page that says how far behind it is. roomtone takeover makes it the controller; then it is one, also
after a restart, until another box takes over from it. It takes the settings of the controller, among them:

${settingsHelp(SUCCESSION_SETTINGS)}
`

/** Runs until SIGTERM or SIGINT; resolves to the exit code. */
export async function main(args: string[], outlets: Outlets): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP)
    return 0
  }
  if (args[0]) throw misuse(`unexpected argument "${args[0]}": see roomtone standby --help`)
  const config = readConfig()
  if (!config.pair)
    throw misuse('A standby follows a replica: set SVC_LEASE_URL and SVC_REPLICA_URL to those of the controller.')
  return await runPairMember(config, config.pair, { follow, outlets, start })
}

/** Strangers read it as well: addresses and what the store said are for the log. */
const NOT_COPIED = "The replica could not be restored, or the copy cannot be used here: see this box's log."

/** Strangers read it as well, so without the name of a file. */
const OTHER_KEY =
  'The secret key of this box does not open what the controller keeps sealed: set SVC_SECRET_KEY, or secret.key in the data ' +
  'directory, to that of the other box.'

/** Whether this box opens what is sealed in a copy of the database: else it could not be the controller. */
function keyFaultOf({ addon, config }: PairBox): (file: string) => string | undefined {
  return (file) => {
    const db = new Db(file, addon, { plain: true })
    try {
      return shutIn(db, config).shut > 0 ? OTHER_KEY : undefined
    } finally {
      db.close()
    }
  }
}

/** Follows the replica, hears requests to take over, and takes over by itself where both boxes allow it. */
async function follow(box: PairBox): Promise<StandbyRole> {
  const { addonPath, config, leaseClient, litestream, log, pair } = box
  const keyFault = keyFaultOf(box)
  const dir = config.SVC_DATA_DIR
  const intervalMs = config.SVC_STANDBY_INTERVAL_SECONDS * 1000
  const term = () => leaseClient.lease?.term ?? 0
  const follower = new Follower({
    addonPath,
    dir,
    intervalMs,
    keyFault,
    litestream,
    log,
    replica: pair.replica,
    term,
  })
  const served = Promise.withResolvers<void>()
  served.promise.catch(() => undefined)
  let busy: string | undefined
  let ours = false
  let turn: Promise<unknown> | undefined
  const take = async (request: TakeoverRequest, say: (sentence: string) => void): Promise<void> => {
    if (turn) throw misuse('A takeover is under way already')
    const told = (sentence: string): void => {
      busy = sentence
      log.warn(sentence)
      say(sentence)
    }
    turn = takeOver({ dir, follower, leaseClient, now: systemClock.now, ttlMs: pair.ttlMs }, request, told)
    try {
      await turn
      ours = true
    } finally {
      turn = undefined
      if (!ours) busy = undefined
    }
  }
  const requests = await listenForTakeoverRequests(dir, async (request, say) => {
    await take(request, say)
    await served.promise
    return `This box is the controller: ${pair.url}`
  })
  follower.start()
  return {
    away() {
      const { copy, fault } = follower
      const why = fault === undefined || fault === OTHER_KEY ? fault : NOT_COPIED
      return { busy, copyAt: copy && Date.parse(copy.pulse.writtenAt), fault: why, role: 'standby' }
    },
    async afterLeaseCheck() {
      // What takes over looks at the lease itself.
      while (turn) await turn.catch(() => undefined)
      if (ours || !pair.automatic || !leaseClient.hasRunOut()) return ours
      // This process may have been held up while nobody looked.
      await leaseClient.claim(false)
      if (!leaseClient.hasRunOut() || !leaseClient.lease) return false
      if (await answers(leaseClient.lease.holder.url)) return false
      log.warn('the lease has run out and the controller does not answer: taking over', { ...leaseClient.lease.holder })
      await take({ force: false, planned: false }, () => {}).catch((e) =>
        log.error('taking over failed; it is tried again', { error: faultWords(e) }),
      )
      return ours
    },
    onServing: async () => served.resolve(),
    async stop() {
      await follower.stop()
      served.reject(misuse('The standby was stopped before it had taken over'))
      await requests.close()
    },
  }
}
