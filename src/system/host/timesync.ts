import { NotStarted, run } from './run.ts'

interface Asking {
  env?: NodeJS.ProcessEnv
  signal?: AbortSignal
}

/**
 * Whether a time server sets this machine's clock, as systemd tells it; undefined where it does not say, or there is no systemd.
 * @throws what `run` throws, but for a program that is not there
 */
export async function isClockSynced(asking: Asking = {}): Promise<boolean | undefined> {
  try {
    const { code, stdout } = await run('timedatectl', ['show', '-p', 'NTPSynchronized', '--value'], {
      ...asking,
      timeoutMs: 5000,
    })
    const said = stdout.trim()
    return code === 0 && (said === 'yes' || said === 'no') ? said === 'yes' : undefined
  } catch (e) {
    if (e instanceof NotStarted) return undefined
    throw e
  }
}
