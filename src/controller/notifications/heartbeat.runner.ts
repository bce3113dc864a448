import { ask } from '../../kernel/http.ts'
import { errorFields, type Log } from '../../kernel/log.ts'
import type { Runner } from '../scheduler/ticker.ts'
import type { Db } from '../store/db.ts'

interface Parts {
  db: Db
  intervalSeconds: number
  log: Log
  /** The runners of the controller, and when each last made a pass. */
  passes: () => readonly {
    enabled: boolean
    intervalSeconds: number
    lastRunAt?: string
    name: string
    running: boolean
  }[]
  url: string | undefined
}

const ANSWER_MS = 10_000
const MAX_ANSWER = 64 * 1024
/** A runner that made no pass for so many of its intervals, and a minute, is stuck. */
const MISSED_INTERVALS = 3
const GRACE_MS = 60_000
/** A pass that takes longer hangs. */
const LONGEST_PASS_MS = 1_800_000

/**
 * The dead man's switch: a service elsewhere is called while the database answers and the runners make passes, and raises the alarm
 * when the calls cease. The address is a secret: it is never logged.
 */
export function heartbeatRunner({ db, intervalSeconds, log, passes, url }: Parts): Runner {
  const answers = db.stmt<object, { one: number }>('SELECT 1 AS one FROM controller_state LIMIT 1')
  const stuck = (now: string): string[] =>
    passes()
      .filter(({ enabled, name }) => enabled && name !== HEARTBEAT_RUNNER)
      .filter(({ intervalSeconds, lastRunAt, running }) => {
        const limit = intervalSeconds * 1000 * MISSED_INTERVALS + (running ? LONGEST_PASS_MS : GRACE_MS)
        return lastRunAt !== undefined && Date.parse(now) - Date.parse(lastRunAt) > limit
      })
      .map(({ name }) => name)
  let isWell = true
  return {
    enabled: url !== undefined,
    intervalSeconds,
    name: HEARTBEAT_RUNNER,
    async tick(now) {
      answers.get({})
      const late = stuck(now)
      if (late.length > 0) throw new Error(`no call: these runners make no passes: ${late.join(', ')}`)
      try {
        const { status } = await ask({
          headers: {},
          maxBytes: MAX_ANSWER,
          method: 'GET',
          timeoutMs: ANSWER_MS,
          url: new URL(url as string),
        })
        if (status >= 400) throw new Error(`the service answered ${status}`)
        isWell = true
      } catch (e) {
        // Said once, not every minute: the service itself raises the alarm.
        if (isWell)
          log.warn("the dead man's switch could not be called: check SVC_HEARTBEAT_URL and the network", errorFields(e))
        isWell = false
      }
      return { called: isWell }
    },
  }
}

const HEARTBEAT_RUNNER = 'heartbeat'
