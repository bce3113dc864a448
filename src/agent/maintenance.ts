// What the agent and whoever maintains this machine tell each other, in files of the agent's directory.

import * as fs from 'node:fs'
import { iso, systemClock } from '../kernel/clock.ts'
import { replaceFile } from '../kernel/durable.ts'
import { errorFields, type Log } from '../kernel/log.ts'
import { version } from '../kernel/version.ts'
import { heldFile, heldText, readHold } from '../system/host/hold.ts'
import { type OnlineSign, onlineSignFile } from '../system/host/onlinesign.ts'
import type { Service } from './proc/service.ts'

const LOOK_MS = 250

/** Maintenance of this machine is about to stop the agent, and asks it to begin nothing new until it lets go. */
export interface Hold extends Service {
  /** Says that nothing new will be begun, and that what was begun is on the disk. */
  answer(id: string): Promise<void>
  /** The hold in force now. */
  asked(): string | undefined
  /** Calls while a hold is in force, several times a second; returns the way to stop that. */
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
        // Whoever waits for it looks at the takes without it, after some time.
        log.warn('maintenance request not acknowledged', errorFields(e))
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
      .catch((e) => log.warn('online sign not written', errorFields(e)))
  }
}
