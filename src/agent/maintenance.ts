// How the agent and the maintenance programs of this machine coordinate: by files in the agent's directory.

import * as fs from 'node:fs'
import { iso, systemClock } from '../kernel/clock.ts'
import { replaceFile } from '../kernel/durable.ts'
import { errorFields, type Log } from '../kernel/log.ts'
import { version } from '../kernel/version.ts'
import { heldFile, heldText, readHold } from '../system/host/hold.ts'
import { type OnlineSign, onlineSignFile } from '../system/host/onlinesign.ts'
import type { Service } from './proc/bell.ts'

const LOOK_MS = 250

/** Maintenance is about to stop the agent and asks it to start nothing new until it releases the hold. */
export interface Hold extends Service {
  /** Confirms that nothing new will be started and that what was started is on disk. */
  answer(id: string): Promise<void>
  /** The hold in force now. */
  asked(): string | undefined
  /** Calls several times a second while a hold is in force; returns a function that unsubscribes. */
  onAsked(listener: () => void): () => void
}

export function createHold(agentDir: string, log: Log): Hold {
  const listeners = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined
  const asked = () => readHold(agentDir)
  return {
    async answer(id) {
      try {
        await replaceFile(heldFile(agentDir), heldText(id))
      } catch (e) {
        const words = 'could not acknowledge the maintenance request; maintenance will check for running takes itself'
        log.warn(words, errorFields(e))
      }
    },
    asked,
    onAsked(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    start() {
      timer = setInterval(() => {
        if (listeners.size > 0 && asked() !== undefined) for (const listener of listeners) listener()
      }, LOOK_MS)
    },
    async stop() {
      clearInterval(timer)
    },
  }
}

/**
 * Writes the sign that setup and maintenance wait for, one write at a time. Removes the one of an earlier run first,
 * because process IDs are reused. A failed write is only logged.
 */
export function createSign(agentDir: string, log: Log): (told: Pick<OnlineSign, 'captureDevice' | 'online'>) => void {
  const file = onlineSignFile(agentDir)
  let last = fs.promises.rm(file, { force: true })
  return (told) => {
    const sign: OnlineSign = { at: iso(systemClock.now()), ...told, pid: process.pid, version }
    last = last
      .then(() => replaceFile(file, `${JSON.stringify(sign)}\n`))
      .catch((e) =>
        log.warn(
          'could not write the online marker: check the disk of the agent directory; until it is written, an update counts as failed',
          errorFields(e),
        ),
      )
  }
}
