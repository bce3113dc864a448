import * as fs from 'node:fs'
import { iso, systemClock } from '../kernel/clock.ts'
import { replaceFile } from '../kernel/durable.ts'
import { errorFields, type Log } from '../kernel/log.ts'
import { version } from '../kernel/version.ts'
import { type OnlineSign, onlineSignFile } from '../system/host/onlinesign.ts'

/**
 * Writes the sign that setup and maintenance wait for, one after the other. That of an earlier run goes: process numbers come
 * back. A disk that does not take it is told, no more.
 */
export function createSign(agentDir: string, log: Log): (told: Pick<OnlineSign, 'captureDevice' | 'online'>) => void {
  const file = onlineSignFile(agentDir)
  let last = fs.promises.rm(file, { force: true })
  return (told) => {
    const sign: OnlineSign = { at: iso(systemClock.now()), ...told, pid: process.pid, version }
    last = last
      .then(() => replaceFile(file, `${JSON.stringify(sign)}\n`))
      .catch((e) => log.warn('the sign of being online cannot be written', errorFields(e)))
  }
}
