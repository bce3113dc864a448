const HELP = `usage: roomtone lifecycle

The runner that acts on nodes over SSH: install, update, restart, rotate trust.
It is not yet available in this version; nodes are set up with roomtone agent --bootstrap.
`

/** Resolves to the exit code: 0 for --help, 2 as long as there is nothing to run. */
export async function main(args: string[]): Promise<number> {
  const asked = args.includes('--help') || args.includes('-h')
  const stream = asked ? process.stdout : process.stderr
  stream.write(asked ? HELP : 'roomtone lifecycle is not yet available in this version.\n')
  return asked ? 0 : 2
}
