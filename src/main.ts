// argv -> one program, imported lazily: the agent never loads SQLite, the controller never loads capture.
import { asUserError, misuse } from './kernel/fail.ts'
import { errorFields, logLine } from './kernel/log.ts'
import { drained, type Outlets, openOutlets } from './kernel/logsink.ts'
import { version } from './kernel/version.ts'

/** Runs until done or told to stop; resolves to the exit code. What runs long writes to the outlets only. */
type Main = (args: string[], outlets: Outlets) => Promise<number>

const PROGRAMS: [name: string, about: string, load: () => Promise<{ main: Main }>][] = [
  ['controller', 'HTTP API, database and background work of the fleet', () => import('./controller/controller.ts')],
  ['agent', 'the recorder on one node: inventory, capture, upload', () => import('./agent/agent.ts')],
  ['lifecycle', 'the optional runner that acts on nodes over SSH', () => import('./lifecycle/lifecycle.ts')],
  ['maintain', "the node's half of that, asked on standard input", () => import('./system/maintain/maintain.ts')],
  ['setup', 'make this box a recorder or a controller, or undo it', () => import('./system/setup/setup.ts')],
  ['tls', 'certificates for a site without an authority of its own', () => import('./system/tls/tls.ts')],
  ['provision', 'make this box a recorder by a set-up stick', () => import('./system/provision/provision.ts')],
  ['usb-config', 'write such a stick: enroll rooms, mint tokens', () => import('./system/provision/usbconfig.ts')],
  ['record', 'make one take on a recorder and bring its file here', () => import('./system/provision/record.ts')],
  ['standby', 'follow the controller from a second box', () => import('./controller/standby.ts')],
  ['takeover', 'make the standby of this box the controller', () => import('./controller/cli/takeover.ts')],
  ['backup', 'copy the database, and the audio, while it is used', () => import('./controller/cli/backup.ts')],
  ['restore', 'put a backup in place', () => import('./controller/cli/restore.ts')],
  ['rebuild', 'make a database from takes and their manifests', () => import('./controller/cli/rebuild/rebuild.ts')],
  ['check', 'look for damage: database, audio, unknown files', () => import('./controller/cli/check.ts')],
  ['doctor', 'what is wrong on this box, and what to do', () => import('./doctor/doctor.ts')],
  ['support', 'pack what support needs into one file', () => import('./doctor/support.ts')],
  ['user', 'accounts from the command line: a lost password', () => import('./controller/cli/user.ts')],
]

const HELP = `roomtone ${version}: one executable that runs a fleet of room recorders

usage: roomtone <program> [options]

${PROGRAMS.map(([name, about]) => `  ${name.padEnd(12)} ${about}`).join('\n')}
  version      print the version
  help         print this text, or with a program's name its options and settings, as <program> --help does
`

const outlets = openOutlets()
const called = (name: string | undefined) => PROGRAMS.find(([one]) => one === name)

async function run([name, ...args]: string[]): Promise<number> {
  if (name === undefined) return say(process.stderr, HELP, 2)
  if (name === 'help' && called(args[0])) return run([...args, '--help'])
  if (name === 'help' || name === '--help' || name === '-h') return say(process.stdout, HELP, 0)
  if (name === 'version' || name === '--version') return say(process.stdout, `${version}\n`, 0)
  const [, , load] = called(name) ?? []
  if (!load) throw misuse(`unknown program "${name}": see roomtone --help`)
  return (await load()).main(args, outlets)
}

function say(to: NodeJS.WriteStream, text: string, code: number): number {
  to.write(text)
  return code
}

/** The log's reader is waited for a second; what was asked for on the command line is read to its end (`| less`). */
async function end(code: number): Promise<never> {
  await Promise.all([outlets.stdout.flush(), outlets.stderr.flush(), drained(process.stdout), drained(process.stderr)])
  process.exit(code)
}

/** A person gets a sentence; only a fault of ours is logged with its stack. */
function die(error: unknown): Promise<never> {
  const told = asUserError(error)
  const name = ['roomtone', ...(called(process.argv[2])?.slice(0, 1) ?? [])].join(' ')
  if (told) outlets.stderr.write(`${name}: ${told.message.trimEnd().replace(/\.$/, '')}.\n`, 'error')
  else outlets.stderr.write(logLine('error', 'unexpected error', errorFields(error)), 'error')
  return end(told?.exitCode ?? 1)
}

// A reader that goes away (a closed terminal, `| head`) must not end a recording.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') die(error)
  })
process.on('uncaughtException', die)
// Databases, takes and logs of a recorder are nobody else's to read.
process.umask(0o027)

run(process.argv.slice(2)).then(end, die)
