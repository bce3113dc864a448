import { Server } from '../../src/controller/http/server.ts'
import type { Kit } from './kit.ts'

/** The kit's controller on a real socket, for what only a connection shows: broken uploads, gone clients, HEAD. */
export async function listening(k: Kit): Promise<{ url: string; close(): Promise<void> }> {
  const server = new Server(k.app, undefined)
  const base = await server.listen('127.0.0.1', 0)
  k.listening(server.port())
  return { url: `${base}/api/v1`, close: () => server.close(500) }
}
