import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { UserError } from '../../kernel/fail.ts'

/**
 * One agent per directory: two would capture into each other's takes. An abstract socket named after the directory,
 * which the kernel takes back with the process, however it ends. @throws UserError when another process holds it.
 */
export async function lockDirectory(dir: string): Promise<Server> {
  const name = createHash('sha256').update(realpathSync(dir)).digest('hex').slice(0, 32)
  const server = createServer((socket) => socket.destroy()).unref()
  return new Promise((resolve, reject) => {
    server.once('error', (e: NodeJS.ErrnoException) =>
      reject(
        e.code === 'EADDRINUSE'
          ? new UserError(`another agent is running in ${dir}: stop it first, or set another SVC_AGENT_DIR`)
          : e,
      ),
    )
    server.listen(`\0roomtone-agent/${name}`, () => resolve(server))
  })
}
