// The settings of a service as a support file shows them.

const SECRET = /(TOKEN|PASSWORD|SECRET|KEY|CODE|CREDENTIAL)/
/** These name a file, never what is in it. */
const PLACE = /_(FILE|PATH|DIR|COMMAND)$/
/** Addresses that are secrets themselves: whoever knows one can use it. */
const ADDRESS = /^SVC_HEARTBEAT_URL$/

type Env = Record<string, string | undefined>

const isSecret = (name: string): boolean => (SECRET.test(name) && !PLACE.test(name)) || ADDRESS.test(name)

const ours = (env: Env): [name: string, value: string][] =>
  Object.entries(env).filter((entry): entry is [string, string] => entry[0].startsWith('SVC_') && !!entry[1])

/** Values that may stand nowhere. */
export const secretValues = (env: Env): string[] =>
  ours(env).flatMap(([name, value]) => (isSecret(name) ? [value] : []))

/** Files that a setting names for its secret value. */
export const secretFiles = (env: Env): string[] =>
  ours(env).flatMap(([name, value]) => (name.endsWith('_FILE') && isSecret(name.slice(0, -5)) ? [value] : []))

/** One per line. What is no setting, for example because it is misspelt, may be a secret: its name alone is shown. */
export function settingsText(env: Env, known: readonly string[]): string {
  const lines = ours(env)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => {
      const bare = name.replace(/_FILE$/, '')
      if (isSecret(name)) return `${name}=[secret, ${value.length} characters]`
      return known.includes(name) || known.includes(bare)
        ? `${name}=${value}`
        : `${name}=[not a setting of this program]`
    })
  return lines.length === 0 ? '(all settings have their defaults)\n' : `${lines.join('\n')}\n`
}
