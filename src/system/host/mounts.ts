import * as fs from 'node:fs'

/** In /proc/self/mountinfo blanks and the like are written as octal digits; proc_pid_mountinfo(5). */
const unescaped = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

/** Whether something other than the system itself is mounted at this directory. Links are followed; false when nothing is there. */
export function isMountPoint(dir: string): boolean {
  const at = fs.existsSync(dir) ? fs.realpathSync(dir) : undefined
  if (at === undefined || at === '/') return false
  const lines = fs.readFileSync('/proc/self/mountinfo', 'latin1').split('\n')
  return lines.some((line) => Buffer.from(unescaped(line.split(' ')[4] ?? ''), 'latin1').toString('utf8') === at)
}
