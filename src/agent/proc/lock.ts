import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { UserError } from '../../kernel/fail.ts'

/**
 * Allows one agent per directory, because two would write into each other's takes. The lock is an abstract socket named after
 * the directory, which the kernel removes when the process ends, however it ends. @throws UserError when it is taken
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
