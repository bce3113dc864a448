// Mail servers on loopback: a real one (Debian's aiosmtpd, with TLS and login), and one that says whatever a test wants.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import * as path from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { initSite } from '../../src/system/tls/site.ts'
import { scratchDir } from './scratch.ts'

// Of the system: other Pythons do not see Debian's packages.
const PYTHON = '/usr/bin/python3'

/** Why there can be no server here; false when there can. */
export const NO_SMTPD: string | false = hasAiosmtpd()
  ? false
  : 'aiosmtpd is not installed (Debian: apt-get install python3-aiosmtpd)'

function hasAiosmtpd(): boolean {
  try {
    execFileSync(PYTHON, ['-c', 'import aiosmtpd'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Files of an authority, and of a certificate for localhost and 127.0.0.1 that it signed at `now`. */
export function certificate(now = Date.now()): { ca: string; cert: string; key: string } {
  const dir = path.join(scratchDir('roomtone-mail-'), 'tls')
  initSite(dir, [{ kind: 'dns', name: 'localhost' }], [], 30, now)
  return { ca: path.join(dir, 'ca.pem'), cert: path.join(dir, 'server.pem'), key: path.join(dir, 'server.key') }
}

interface SmtpOptions {
  /** Answer to the message; default: it is accepted. */
  answer?: string
  login?: { password: string; username: string }
  /** Answers to recipients that are not accepted. */
  refuse?: Record<string, string>
  security: 'none' | 'starttls' | 'tls'
  tls?: { cert: string; key: string }
}

/** A mail as the server's own parser reads it. */
export interface Mail {
  encrypted: boolean
  from: string
  headers: [name: string, value: string][]
  html: string
  raw: string
  text: string
  to: string[]
  user: string | null
}

/** aiosmtpd on a free port until the test ends. */
export async function smtpServer(t: TestContext, options: SmtpOptions): Promise<{ mails: Mail[]; port: number }> {
  const server = spawn(PYTHON, ['-u', '-c', PROGRAM, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'ignore'] })
  t.after(() => ended(server))
  const mails: Mail[] = []
  const { promise, reject, resolve } = Promise.withResolvers<number>()
  server.once('exit', () => reject(new Error('aiosmtpd does not start')))
  createInterface({ input: server.stdout }).on('line', (line) => {
    const said = JSON.parse(line)
    if ('port' in said) resolve(said.port)
    else {
      mails.push(said)
      server.stdin.write('\n')
    }
  })
  return { mails, port: await promise }
}

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return
  const gone = once(server, 'exit')
  server.kill('SIGKILL')
  await gone
}

const PROGRAM = `
import asyncio, base64, email, email.policy, json, ssl, sys, threading, os
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

options = json.loads(sys.argv[1])
security, login, refuse = options["security"], options.get("login"), options.get("refuse", {})
context = None
if "tls" in options:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(options["tls"]["cert"], options["tls"]["key"])

def part(message, kind):
    found = message.get_body((kind,))
    return found.get_content().replace("\\r\\n", "\\n") if found else ""

class Handler:
    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        if address in refuse:
            return refuse[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        print(json.dumps({
            "encrypted": server.transport.get_extra_info("sslcontext") is not None,
            "from": envelope.mail_from,
            "headers": [[name, str(value)] for name, value in message.items()],
            "html": part(message, "html"),
            "raw": envelope.content.decode("latin-1"),
            "text": part(message, "plain"),
            "to": envelope.rcpt_tos,
            "user": session.auth_data.login.decode() if session.authenticated else None,
        }))
        # Accepted once the test has it.
        await asyncio.to_thread(taken.acquire)
        return options.get("answer", "250 OK")

def authenticate(server, session, envelope, mechanism, data):
    good = isinstance(data, LoginPassword) and login and \\
        (data.login.decode(), data.password.decode()) == (login["username"], login["password"])
    return AuthResult(success=bool(good), handled=False, auth_data=data)

async def main():
    def session():
        return SMTP(
            Handler(), hostname="mail.test", tls_context=context if security == "starttls" else None,
            require_starttls=security == "starttls", auth_required=login is not None,
            auth_require_tls=security == "starttls", authenticator=authenticate,
        )
    server = await asyncio.get_running_loop().create_server(
        session, "127.0.0.1", 0, ssl=context if security == "tls" else None)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}))
    await server.serve_forever()

taken = threading.Semaphore(0)

def listen():
    for _ in sys.stdin:
        taken.release()
    # Nobody is left behind when the test run is killed.
    os._exit(0)

threading.Thread(target=listen, daemon=True).start()
asyncio.run(main())
`

/** What a server of a test does with a connection: `lines` are the client's, as they come; null at the end. */
export type Conversation = (say: (text: string) => void, line: () => Promise<string | null>, socket: Socket) => unknown

/** A server that follows no rules until the test ends. `heard`: every byte of all connections. */
export async function oddServer(t: TestContext, converse: Conversation) {
  const heard: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (data) => heard.push(data.toString('latin1')))
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
    const line = async () => (await lines.next()).value ?? null
    void converse((text) => socket.writable && socket.write(text), line, socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { heard: () => heard.join(''), port: (server.address() as AddressInfo).port }
}

/** As far as the end of a message, with the given answers in place of the usual ones; each command gets one. */
export const polite =
  (answers: Record<string, string> = {}, ehlo = '250-odd\r\n250 8BITMIME\r\n'): Conversation =>
  async (say, line) => {
    say('220 odd\r\n')
    for (let command = await line(); command !== null; command = await line()) {
      const verb = Object.keys(answers).find((start) => command?.startsWith(start))
      if (verb !== undefined) say(answers[verb] as string)
      else if (command.startsWith('EHLO')) say(ehlo)
      else if (command.startsWith('DATA')) {
        say('354 go on\r\n')
        while (![null, '.'].includes(await line()));
        say(answers['.'] ?? '250 taken\r\n')
      } else say('250 fine\r\n')
    }
  }
