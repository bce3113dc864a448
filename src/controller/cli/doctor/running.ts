// Whether the controller runs, and its background work with it: it tells that to its own machine.
import * as net from 'node:net'
import { systemClock } from '../../../kernel/clock.ts'
import * as http from '../../../kernel/http.ts'
import { startOrWhy } from '../../../system/checks/box.rules.ts'
import { fail, skipped, warn } from '../../../system/checks/examine.ts'
import { UNITS } from '../../../system/host/places.ts'
import { advice, type Finding } from '../../../wire/doctor.ts'
import { awayRoleOf } from '../../../wire/lease.ts'
import { readinessOf } from '../../../wire/status.ts'
import type { Config } from '../../config.ts'
import { judgeAway, judgeRunners } from './controller.rules.ts'

const PATIENCE_MS = 5000
const MAX_BYTES = 64 * 1024

/** The address of this controller on its own machine. */
function addressOf({ SVC_HOST: host, SVC_PORT: port, tls }: Config): string {
  const here = host === '0.0.0.0' || host === '::' ? 'localhost' : net.isIPv6(host) ? `[${host}]` : host
  return `${tls ? 'https' : 'http'}://${here}:${port}`
}

export async function runnersAlive(config: Config, signal: AbortSignal): Promise<Finding> {
  if (config.SVC_PORT === 0) return skipped('SVC_PORT is 0: at which port the controller listens is not known')
  const url = addressOf(config)
  try {
    // Whose the certificate is does not matter: nothing is sent, and it is this machine.
    const { text } = await http.ask({
      connectMs: PATIENCE_MS,
      headers: {},
      maxBytes: MAX_BYTES,
      method: 'GET',
      signal,
      timeoutMs: PATIENCE_MS,
      tls: { rejectUnauthorized: false },
      url: new URL(`${url}/readyz`),
    })
    return judged(text, url)
  } catch (e) {
    if (!(e instanceof http.NoAnswer)) throw e
    if (config.tls?.clientCertMode === 'required')
      return skipped('The controller requires a client certificate, so it was not asked')
    return fail(`The controller does not answer at ${url}: ${e.message}`, startOrWhy(UNITS.controller))
  }
}

function judged(text: string, url: string): Finding {
  const told = http.jsonOf(text)
  const away = awayRoleOf(told)
  if (away) return judgeAway(away)
  const data = readinessOf(told)
  if (!data)
    return fail(
      `What answers at ${url} is no controller of Roomtone`,
      advice('Stop it, or set SVC_PORT to another port and start the controller. Which it is:', 'sudo ss -ltnp'),
    )
  if (!data.ok)
    return fail(
      'The controller runs, but its database does not answer',
      advice('database.integrity, database.writable and disk.space say why'),
    )
  if (!data.runners) return skipped('The controller runs, and tells of its background work only on a loopback address')
  const now = systemClock.now()
  const upSeconds = (now - Date.parse(data.startedAt)) / 1000
  const unseen = data.runners.filter(({ enabled }) => enabled).length === 0
  if (unseen)
    return warn(
      'No background work is enabled',
      advice(
        'Remove each SVC_..._ENABLED=false from /etc/roomtone/controller.env. Then:',
        `sudo systemctl restart ${UNITS.controller}`,
      ),
    )
  return judgeRunners(data.runners, now, upSeconds)
}
