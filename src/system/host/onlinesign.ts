// The file in which an agent tells other programs on its machine whether it is online. No secrets.
import * as path from 'node:path'
import { readSmall } from './files.ts'

export interface OnlineSign {
  /** Since when, ISO 8601. */
  at: string
  /** Whether the agent has anything to record from; absent in the sign of an older one. */
  captureDevice?: boolean
  /** Whether the controller accepted the last heartbeat. */
  online: boolean
  /** The agent that wrote it; the file of an earlier one says nothing. */
  pid: number
  version: string
}

/** In the agent's directory (`SVC_AGENT_DIR`). */
export const onlineSignFile = (agentDir: string): string => path.join(agentDir, 'online.json')

/** Undefined when it is missing or cannot be parsed. */
export function readOnlineSign(agentDir: string): OnlineSign | undefined {
  const text = readSmall(onlineSignFile(agentDir))
  try {
    const { at, captureDevice, online, pid, version } = JSON.parse(text ?? '') as Partial<
      Record<keyof OnlineSign, unknown>
    >
    const whole = typeof at === 'string' && typeof online === 'boolean' && typeof version === 'string'
    if (!whole || typeof pid !== 'number') return undefined
    return { at, ...(typeof captureDevice === 'boolean' ? { captureDevice } : {}), online, pid, version }
  } catch {
    return undefined // callers look again
  }
}
