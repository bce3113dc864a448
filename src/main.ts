// argv -> one program, imported lazily: the agent never loads SQLite, the controller never loads capture.
import { errorFields, jsonLog } from './kernel/log.ts'
import { drained, type Outlets, openOutlets } from './kernel/logsink.ts'
import { version } from './kernel/version.ts'

interface Program {
  /** Runs until done or told to stop; resolves to the exit code. What runs long writes to the outlets only. */
  main(args: string[], outlets: Outlets): Promise<number>
}

const PROGRAMS: Record<string, () => Promise<Program>> = {
  controller: () => import('./controller/controller.ts'),
  agent: () => import('./agent/agent.ts'),
  lifecycle: () => import('./lifecycle/lifecycle.ts'),
  maintain: () => import('./maintain/maintain.ts'),
  setup: () => import('./setup/setup.ts'),
  tls: () => import('./tls/tls.ts'),
  provision: () => import('./provision/provision.ts'),
  'usb-config': () => import('./provision/usbconfig.ts'),
  backup: () => import('./controller/verbs/backup.ts'),
  restore: () => import('./controller/verbs/restore.ts'),
  check: () => import('./controller/verbs/check.ts'),
  user: () => import('./controller/verbs/user.ts'),
}

const HELP = `roomtone ${version}: one executable that runs a fleet of room recorders

usage: roomtone <program> [options]

  controller   HTTP API, database and background work of the whole fleet
  agent        the recorder on one node: inventory, capture, upload; --bootstrap on its first day
  lifecycle    the optional runner that acts on nodes over SSH
  maintain     the node's half of that: one action, asked as a line of JSON on standard input
  setup        make this box a recorder, a controller or a lifecycle runner, or take it all off again
  tls          certificates for a site that has no authority of its own
  provision    make this box a recorder with the file of a setup stick
  usb-config   write that stick: enroll rooms and mint their tokens
  backup       copy the controller's database, and its audio if wanted, while it runs
  restore      put a backup in place
  check        look for damage: database, stored audio, files nobody knows
  user         accounts from the command line: a lost password, a first admin
  version      print the version
  help         print this text, or with a program's name the program's own

roomtone <program> --help tells its options and settings.
`

const outlets = openOutlets()
const log = jsonLog((line, level) => outlets.stderr.write(line, level))

async function run([verb, ...args]: string[]): Promise<number> {
  if (verb === 'help' && args[0] && Object.hasOwn(PROGRAMS, args[0])) return run([args[0], '--help'])
  if (verb === undefined) return say(process.stderr, HELP, 2)
  if (verb === 'help' || verb === '--help' || verb === '-h') return say(process.stdout, HELP, 0)
  if (verb === 'version' || verb === '--version') return say(process.stdout, `${version}\n`, 0)
  const load = Object.hasOwn(PROGRAMS, verb) ? PROGRAMS[verb] : undefined
  if (!load) return say(process.stderr, `There is no program "${verb}": see roomtone --help.\n`, 2)
  return (await load()).main(args, outlets)
}

function say(to: NodeJS.WriteStream, text: string, code: number): number {
  to.write(text)
  return code
}

/** The log's reader is waited for a second; what was asked for on the command line is read to its end (`| less`). */
async function end(code: number): Promise<never> {
  const { stderr, stdout } = outlets
  await Promise.all([stdout.flush(), stderr.flush(), drained(process.stdout), drained(process.stderr)])
  process.exit(code)
}

function die(error: unknown): Promise<never> {
  log.error('The program stops: an error nobody expected.', errorFields(error))
  return end(1)
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
