import * as fs from 'node:fs'
import * as path from 'node:path'

const UNITS = path.resolve(import.meta.dirname, '..', '..', 'systemd')

/** What the unit of a service tells the allocator: a program whose memory is measured runs as the service does. */
export function allocatorOf(service: 'agent' | 'controller'): Record<string, string> {
  const unit = fs.readFileSync(path.join(UNITS, `roomtone-${service}.service`), 'utf8')
  return Object.fromEntries([...unit.matchAll(/\b(MALLOC_\w+)=(\d+)/g)].map(([, name, value]) => [name, value]))
}
