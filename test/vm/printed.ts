// What documents print to be typed, and `you`, who types it.
import * as fs from 'node:fs'
import * as path from 'node:path'
import { ROOT } from '../kit/executable.ts'
import type { Machine } from './machine.ts'

/** The text below a heading, up to the next one. */
export function section(file: string, heading: string): string {
  const [, text = ''] = fs.readFileSync(path.join(ROOT, file), 'utf8').split(`\n## ${heading}\n`)
  return text.split('\n## ')[0]!
}

/** The numbered steps of a section. */
export const stepsOf = (file: string, heading: string): string[] =>
  section(file, heading)
    .split(/^\d\. /m)
    .slice(1)

/** What a step or a section prints to be typed, in its order: blocks, and lines within the text. */
export const printed = (step: string): string[] =>
  [...step.matchAll(/^ *```sh\n([\s\S]*?)^ *```$|`((?:sudo|scp) [^`]+)`/gm)].map(([, block, line]) =>
    (block ?? line ?? '').replace(/^ {3}/gm, ''),
  )

/** Makes `you`, with sudo rights, known to the other boxes; gives the keys that are theirs. In place of passwords that are typed. */
export async function settle(box: Machine): Promise<string> {
  const keys = `mkdir -p -m 700 ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519 &&
    echo 'StrictHostKeyChecking accept-new' >~/.ssh/config && cat ~/.ssh/id_ed25519.pub`
  await box.must('mkdir -p /home/you && useradd -d /home/you -s /bin/bash you && chown -R you /home/you')
  await box.write('/etc/sudoers.d/you', 'you ALL=(ALL) NOPASSWD: ALL\n', '0440')
  await box.must('systemctl start ssh')
  // No card in these boxes: a tone stands in for it. The setup keeps what stands in the settings.
  await box.write('/etc/roomtone/recorder-agent.env', 'SVC_TEST_SOURCE=1\n', '0640')
  return (await typed(box, keys)) + (await box.must(keys))
}

/** Types it at a prompt of `you`; gives what it printed, and fails when it does. */
export const typed = (box: Machine, lines: string, input?: string): Promise<string> =>
  box.must(`export HOME=/home/you PATH=/usr/local/bin:/usr/bin:/bin; cd; ${lines}`, {
    timeoutMs: 120_000,
    user: 'you',
    ...(input === undefined ? {} : { input }),
  })
