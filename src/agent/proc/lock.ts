import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { UserError } from '../../kernel/fail.ts'

const nameOf = (dir: string): string =>
  `\0roomtone-agent/${createHash('sha256').update(realpathSync(dir)).digest('hex').slice(0, 32)}`

/** The socket that an agent of this directory holds; undefined where there is no such directory. */
export const lockName = (dir: string): string | undefined => (existsSync(dir) ? nameOf(dir) : undefined)

/**
 * Allows one agent per directory, because two would write into each other's takes. The lock is an abstract socket named after
 * the directory, which the kernel removes when the process ends, however it ends. `answer`: what whoever connects is told;
 * every user of this machine can. @throws UserError when it is taken
 */
export async function lockDirectory(dir: string, answer: () => string = () => ''): Promise<Server> {
  const server = createServer((socket) => {
    // Who has gone meanwhile needs no answer.
    socket.on('error', () => {})
    socket.end(answer(), () => socket.destroy())
  }).unref()
  server.maxConnections = 8
  return new Promise((resolve, reject) => {
    server.once('error', (e: NodeJS.ErrnoException) =>
      reject(
        e.code === 'EADDRINUSE'
          ? new UserError(`another agent is running in ${dir}: stop it first, or set another SVC_AGENT_DIR`)
          : e,
      ),
    )
    server.listen(nameOf(dir), () => resolve(server))
  })
}
