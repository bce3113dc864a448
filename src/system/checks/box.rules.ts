// When a disk, a clock or a service is worth a word (docs/operations.md: When something is odd).
import { type DiskRoom, freePercent } from '../../kernel/disk.ts'
import { sizeText } from '../../kernel/size.ts'
import { advice, command, type Finding, type Fix } from '../../wire/doctor.ts'
import { shellWord } from '../../wire/install.ts'

const LEAST_FREE = { fail: 5, warn: 15 }
const SLOW_MS = { fail: 500, warn: 50 }
/** Beyond this the times in recordings, sessions and certificates are wrong. */
const WRONG_SECONDS = 30

export interface Free extends Pick<DiskRoom, 'freeBytes' | 'usedPercent'> {
  dir: string
}

/** The fullest of some disks. `fix`: how to make room. */
export function judgeSpace(disks: readonly Free[], fix: Fix): Finding {
  const [fullest] = disks.toSorted((a, b) => b.usedPercent - a.usedPercent)
  if (!fullest) return { message: 'The free space is not known here', status: 'skipped' }
  const { dir, freeBytes, usedPercent } = fullest
  const free = 100 - usedPercent
  const message = `${freePercent(fullest)} % free (${sizeText(freeBytes)}) at ${dir}`
  if (free < LEAST_FREE.fail) return { fix, message, status: 'fail' }
  return free < LEAST_FREE.warn ? { fix, message, status: 'warn' } : { message, status: 'ok' }
}

/** `ms`: how long each of some writes took until it was on the disk. The middle one counts: one late write is chance. */
export function judgeSync(ms: readonly number[], dir: string): Finding {
  const middle = ms.toSorted((a, b) => a - b)[Math.floor(ms.length / 2)] ?? 0
  const message = `A write is on the disk after ${middle < 10 ? middle.toFixed(1) : Math.round(middle)} ms (${dir})`
  const fix = advice(
    'An SD card or a network disk is too slow here: use an SSD. Which disk it is, and whether it reports errors:',
    `findmnt -T ${shellWord(dir)}; sudo dmesg -l err,warn | tail -n 20`,
  )
  if (middle > SLOW_MS.fail) return { fix, message, status: 'fail' }
  return middle > SLOW_MS.warn ? { fix, message, status: 'warn' } : { message, status: 'ok' }
}

const SET_TIME = advice(
  'Where no time server of the internet is reached, name one in /etc/systemd/timesyncd.conf (NTP=) first. Then:',
  'sudo apt-get install -y systemd-timesyncd && sudo timedatectl set-ntp true && sudo systemctl restart systemd-timesyncd',
)

interface ClockReading {
  /** How far this clock is ahead of the controller's, seconds; undefined when that was not asked. */
  ahead?: number | undefined
  /** Undefined when the system does not say. */
  synced: boolean | undefined
}

export function judgeClock({ ahead, synced }: ClockReading): Finding {
  if (ahead !== undefined && Math.abs(ahead) > WRONG_SECONDS) {
    const off = `${Math.round(Math.abs(ahead))} s ${ahead > 0 ? 'ahead of' : 'behind'} the controller's`
    return { fix: SET_TIME, message: `This clock is ${off}`, status: 'fail' }
  }
  if (synced === false) return { fix: SET_TIME, message: 'No time server sets this clock', status: 'warn' }
  if (synced) return { message: 'A time server sets this clock', status: 'ok' }
  const message = 'Whether a time server sets this clock is not known here'
  return ahead === undefined
    ? { message, status: 'skipped' }
    : { message: `As the controller's. ${message}`, status: 'ok' }
}

/** Starts a unit, now and at every boot; where it does not come up its journal says why. */
export const startOrWhy = (unit: string): Fix =>
  command(`sudo systemctl enable --now ${unit} || sudo journalctl -u ${unit} -n 30 --no-pager`)

/** What `systemctl show` says of a unit. */
export interface UnitFacts {
  ActiveState: string
  LoadState: string
  NRestarts: string
  Result: string
  SubState: string
  UnitFileState: string
}

export function judgeUnit(unit: string, facts: Partial<UnitFacts>): Finding {
  const { ActiveState, LoadState, SubState, UnitFileState } = facts
  if (LoadState === undefined || LoadState === 'not-found')
    return { message: `${unit} is not installed here`, status: 'skipped' }
  const why = advice('Its journal says why:', `sudo journalctl -u ${unit} -n 30 --no-pager`)
  if (LoadState === 'masked')
    return {
      fix: command(`sudo systemctl unmask ${unit} && sudo systemctl enable --now ${unit}`),
      message: `${unit} is masked`,
      status: 'fail',
    }
  if (SubState === 'auto-restart')
    return { fix: why, message: `${unit} ends again and again (${facts.Result})`, status: 'fail' }
  if (ActiveState === 'activating') return { fix: why, message: `${unit} is starting`, status: 'warn' }
  if (ActiveState !== 'active')
    return {
      fix: startOrWhy(unit),
      message: `${unit} does not run (${ActiveState})`,
      status: 'fail',
    }
  if (UnitFileState === 'disabled')
    return {
      fix: command(`sudo systemctl enable ${unit}`),
      message: `${unit} runs, but will not be started at the next boot`,
      status: 'warn',
    }
  return { message: `${unit} runs`, status: 'ok' }
}
