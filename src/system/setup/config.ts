// The only reader of the setup's environment.

/**
 * The environment of system programs: the caller's (proxy, PATH), but in English, non-interactive, and without our settings
 * and secrets.
 */
export function toolEnv(): NodeJS.ProcessEnv {
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'))
  return { ...Object.fromEntries(ours), DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
}

/** The environment of this program in another mode: its settings come from the settings file alone. */
export const ownEnv = (home: string): NodeJS.ProcessEnv => ({ HOME: home, LANG: 'C.UTF-8', PATH: process.env.PATH })
