// A real smbd as a plain process: private configuration, a high port on loopback, one share, one account.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import * as path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const SMBD = ['/usr/sbin/smbd', '/usr/local/sbin/smbd'].find(existsSync)
const SMBPASSWD = ['/usr/bin/smbpasswd', '/usr/local/bin/smbpasswd'].find(existsSync)

/** Why there can be no server here; false when there can. */
export const NO_SMBD: string | false =
  SMBD && SMBPASSWD ? false : 'smbd is not installed (Debian: apt-get install samba smbclient)'

export const SMB_PASSWORD = `pass "word"; with % everything`

export interface SmbServer {
  close(): Promise<void>
  /** Directory behind the share. */
  dir: string
  port: number
  share: string
  username: string
}

/** `extra`: further lines for the share. */
export async function smbServer(extra: readonly string[] = []): Promise<SmbServer> {
  const home = mkdtempSync(path.join(tmpdir(), 'roomtone-smbd-'))
  const dirs = ['share', 'private', 'lock', 'state', 'cache', 'pid', 'ncalrpc', 'log']
  for (const dir of dirs) mkdirSync(path.join(home, dir), { mode: 0o700 })
  const port = await freePort()
  const config = path.join(home, 'smb.conf')
  const { username } = userInfo()
  writeFileSync(config, configuration(home, port, username, extra))
  const input = `${SMB_PASSWORD}\n${SMB_PASSWORD}\n`
  execFileSync(SMBPASSWD as string, ['-c', config, '-s', '-a', username], {
    input,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Its own process group: every connection is a child of it, and all of them end together.
  const smbd = spawn(SMBD as string, ['-F', '--no-process-group', '-s', config], { detached: true, stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => smbd.once('exit', () => resolve()))
  await accepting(port)
  return {
    close: async () => {
      if (smbd.exitCode === null && smbd.pid) process.kill(-smbd.pid, 'SIGKILL')
      await ended
      rmSync(home, { recursive: true, force: true })
    },
    dir: path.join(home, 'share'),
    port,
    share: 'takes',
    username,
  }
}

const configuration = (home: string, port: number, username: string, extra: readonly string[]): string =>
  [
    '[global]',
    `smb ports = ${port}`,
    'interfaces = 127.0.0.1',
    'bind interfaces only = yes',
    ...['private', 'lock', 'state', 'cache'].map(
      (name) => `${name === 'private' ? 'private dir' : `${name} directory`} = ${home}/${name}`,
    ),
    `pid directory = ${home}/pid`,
    `ncalrpc dir = ${home}/ncalrpc`,
    `log file = ${home}/log/smbd`,
    'server role = standalone server',
    `passdb backend = tdbsam:${home}/private/passdb.tdb`,
    'map to guest = never',
    'load printers = no',
    'disable spoolss = yes',
    'server min protocol = SMB2',
    '[takes]',
    `path = ${home}/share`,
    'read only = no',
    `force user = ${username}`,
    ...extra,
    '',
  ].join('\n')

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}

async function accepting(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await answers(port)) return
    await pause(25)
  }
  throw new Error('smbd does not listen')
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    const end = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
