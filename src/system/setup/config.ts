// The only reader of the setup's environment.

/**
 * What programs of the system are called with: the caller's own (a proxy, a path), but in the language we read, never asking
 * anybody, and without our settings and secrets.
 */
export function toolEnv(): NodeJS.ProcessEnv {
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'))
  return { ...Object.fromEntries(ours), DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
}

/** What this program is called with in another mode: the settings file counts, not who runs the setup. */
export const ownEnv = (home: string): NodeJS.ProcessEnv => ({ HOME: home, LANG: 'C.UTF-8', PATH: process.env.PATH })
