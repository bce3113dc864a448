// The line a technician types on a new box. The console, the command line and the documentation show the same one.

export interface InstallLine {
  allowInsecure?: boolean
  /** Path on the new box of the controller's certificate authority. */
  controllerCa?: string | undefined
  /** The controller's own address. */
  controllerUrl: string
  nodeId: string
  /** The controller's public key as curl takes it: nothing else is believed, whoever vouches. `controllerCa` comes before it. */
  pin?: string | undefined
  room?: string
  site?: string
  /** Goes before the script on the same pipe: no list of processes and no log of sudo has it. Without it the script asks. */
  token?: string
  /** Full release tag; without one the installer takes the latest. */
  version?: string | undefined
}

/** One word for a POSIX shell, whatever is in it. */
export const shellQuoted = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`

/** The same, quoted only where it has to be: for people who read it. */
export const shellWord = (value: string): string => (/^[\w.:/=,-]+$/.test(value) ? value : shellQuoted(value))

/** Beside --cacert curl goes on trusting the system's directory of authorities; /sys is everywhere and holds none. */
const NO_OTHERS = ['--capath', '/sys']

const TOKEN = /^[\w.-]+$/

/**
 * Fetches the installer from the controller and runs it as root; every value is quoted.
 * @throws Error for a token with other characters than a controller makes
 */
export function installLine(wish: InstallLine): string {
  const { allowInsecure, controllerCa, controllerUrl, pin, token } = wish
  if (token !== undefined && !TOKEN.test(token))
    throw new Error('A bootstrap token is one word of letters, digits, _ . and -')
  const options = {
    '--controller-ca': controllerCa,
    '--node-id': wish.nodeId,
    '--room': wish.room,
    '--site': wish.site,
    '--version': wish.version,
  }
  const given = Object.entries(options).flatMap(([flag, value]) => (value ? [flag, shellQuoted(value)] : []))
  const authority = controllerCa ? ['--cacert', shellQuoted(controllerCa), ...NO_OTHERS] : []
  // `-k` gives up the authorities, which the box has none of: the key decides, and curl asks for it all the same.
  const pinned = pin && !controllerCa ? ['-k', '--pinnedpubkey', shellQuoted(pin)] : []
  const trust = [...authority, ...pinned, ...(allowInsecure ? ['-k'] : [])]
  // What root is to run comes by https only, also across redirects.
  const proto = controllerUrl.startsWith('https:') ? ["--proto '=https'"] : []
  const fetched = ['curl', '-fsSL', ...proto, ...trust, shellQuoted(`${controllerUrl}/install.sh`)].join(' ')
  // A shell that is given nothing, or half a script, would say that all went well.
  const script = `{ ${token ? `echo SVC_BOOTSTRAP_TOKEN=${token}; ` : ''}${fetched} || printf '\\nexit 1\\n'; }`
  return [script, '| sudo sh -s --', ...given, ...(allowInsecure ? ['--allow-insecure'] : [])].join(' ')
}

/** As short as it can be, for a person who types it by hand: the script asks for the pairing code. No redirect is followed. */
export function typedInstallLine({ controllerUrl, pin }: Pick<InstallLine, 'controllerUrl' | 'pin'>): string {
  const plain = controllerUrl.startsWith('http:')
  const pinned = pin ? `-k --pinnedpubkey ${shellQuoted(pin)} ` : ''
  return `curl -fsS ${pinned}${shellWord(`${controllerUrl}/install.sh`)} | sudo sh${plain ? ' -s -- --allow-insecure' : ''}`
}
