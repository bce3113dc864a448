// roomtone lifecycle: acts on nodes over SSH for a controller elsewhere.

import { misuse } from '../kernel/fail.ts'
import { randomIds } from '../kernel/ids.ts'
import { jsonLog, type Log } from '../kernel/log.ts'
import type { Outlets } from '../kernel/logsink.ts'
import { isLoopback } from '../kernel/loopback.ts'
import { settingsHelp } from '../kernel/settings.ts'
import { version } from '../kernel/version.ts'
import { createNotifier } from '../system/host/notify.ts'
import { ALL_SETTINGS, readServerSettings, type ServerSettings } from './config.ts'
import { controllerMaterial } from './material.ts'
import { perform } from './run.ts'
import { RunnerServer } from './server.ts'
import { Vault } from './vault.ts'

const HELP = `usage: roomtone lifecycle

Acts on nodes over SSH: packages, updates, restarts, trust, checks, removal. A controller asks for it over HTTP
(its SVC_ANSIBLE_RUNNER_URL and SVC_ANSIBLE_RUNNER_TOKEN); each run fetches the key of its node from the controller and
forgets it. Prints one JSON line with its "url" when it listens; the log goes to stderr.

Settings come from the environment, each also as <NAME>_FILE naming a file that holds the value:

${settingsHelp(ALL_SETTINGS)}
`

/** Runs until it is told to stop; resolves to the exit code. */
export async function main(args: string[], { stderr, stdout }: Outlets): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(HELP)
    return 0
  }
  if (args[0]) throw misuse(`unexpected argument "${args[0]}": see roomtone lifecycle --help`)
  const log = jsonLog((line, level) => stderr.write(line, level))
  const running = await start(readServerSettings(), log)
  stdout.write(`${JSON.stringify({ url: running.url, version, pid: process.pid })}\n`)
  await signalled()
  log.info('lifecycle runner stopping')
  await running.stop()
  return 0
}

async function start(settings: ServerSettings, log: Log): Promise<{ stop(): Promise<void>; url: string }> {
  const { controller, manager, run, token } = settings
  const material = controllerMaterial(controller)
  const vault = new Vault(run.vaultDirs)
  const parts = { ids: randomIds, material, secrets: [token, controller.token ?? ''], settings: run, vault }
  const status = () => 'ready'
  const notifier = createNotifier({ alive: () => true, command: 'systemd-notify', env: run.env, log, manager, status })
  const server = new RunnerServer({ log, perform: (...request) => perform(parts, ...request), token })
  try {
    const url = await server.listen(settings.host, settings.port)
    const keysFrom = controller.token === undefined ? 'none' : (controller.url ?? 'none')
    await notifier.ready()
    log.info('lifecycle runner listening', { keysFrom, url, version })
    for (const words of run.warnings) log.warn(words)
    if (!isLoopback(settings.host))
      log.warn('listening on the network over plain HTTP: put a TLS proxy in front of it', { url })
    return {
      url,
      async stop() {
        void notifier.stopping('ending what runs')
        await server.close()
        vault.close()
        await notifier.stop()
      },
    }
  } catch (e) {
    vault.close()
    throw e
  }
}

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}
