// A process of its own that reports events and sends them: `node child.ts URL DIR STORE FROM TO`.
import * as path from 'node:path'
import { Health } from '../../../src/agent/health/health.ts'
import { createSqliteStore } from '../../../src/agent/health/sqlite.ts'
import { createHealthStore } from '../../../src/agent/health/store.ts'
import { createLink } from '../../../src/agent/link/client.ts'
import { systemClock } from '../../../src/kernel/clock.ts'

const [url = '', dir = '', kind = '', from = '0', to = '0'] = process.argv.slice(2)
const file = path.join(dir, 'health')
const times = { connectTimeoutMs: 5000, readTimeoutMs: 5000, requestTimeoutMs: 5000 }
const nodeId = 'node_1'
const health = new Health({
  clock: systemClock,
  cursorFile: `${file}.sent`,
  link: createLink({ ...times, allowInsecure: false, nodeId, token: () => 'svc_node_x', url }),
  log: { debug: () => {}, error: () => {}, info: () => {}, warn: () => {} },
  nodeId,
  online: () => true,
  store:
    kind === 'sqlite'
      ? createSqliteStore({ clock: systemClock, file, maxBytes: 10_000_000, nodeId })
      : createHealthStore({ file, maxBytes: 20_000, retainedFiles: 50 }),
})
await health.start()
for (let n = Number(from); n < Number(to); n++) {
  health.report({ details: { n }, severity: 'info', type: 'agent.test' })
  if (n % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
}
// Until it is killed.
setInterval(() => health.nudge(), 20)
