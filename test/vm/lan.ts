// A network that machines share, beside the cable each has to this host: one of them has the switch, all know each other's names.
import { execFileSync } from 'node:child_process'
import type { Machine } from './machine.ts'

const NET = '10.78.0'
const ip = (line: string): void => void execFileSync('ip', line.split(' '), { stdio: 'pipe' })

export interface Lan {
  /** From now on nobody hears of a box, as of one without power: no end of a connection, and no answer that it is not there. */
  pull(box: Machine): void
  plugIn(box: Machine): void
}

/** Goes with the machines. `hub` has to stay while the others talk; `s3.example` is this host, by each machine's own cable. */
export async function layLan(hub: Machine, boxes: Record<string, Machine>): Promise<Lan> {
  ip(`-n ${hub.name} link add lan0 type bridge`)
  ip(`-n ${hub.name} address add ${NET}.1/24 dev lan0`)
  ip(`-n ${hub.name} link set lan0 up`)
  const names = Object.keys(boxes)
  for (const [i, box] of Object.values(boxes).entries()) {
    const port = `port${i}`
    ip(`link add ${port} netns ${hub.name} type veth peer name lan0 netns ${box.name}`)
    ip(`-n ${hub.name} link set ${port} master lan0 up`)
    ip(`-n ${box.name} address add ${NET}.${i + 2}/24 dev lan0`)
    ip(`-n ${box.name} link set lan0 up`)
  }
  const hosts = names.map((name, i) => `${NET}.${i + 2} ${name}\n`).join('')
  for (const box of [hub, ...Object.values(boxes)])
    await box.must('cat >>/etc/hosts', { input: `${hosts}${box.hostAddress} s3.example\n` })
  const port = (box: Machine, state: 'down' | 'up') =>
    ip(`-n ${hub.name} link set port${Object.values(boxes).indexOf(box)} ${state}`)
  return { plugIn: (box) => port(box, 'up'), pull: (box) => port(box, 'down') }
}
