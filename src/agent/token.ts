import { faultWords } from '../kernel/words.ts'

/** Where a secret comes from, so that a daemon can read it again after it was replaced. */
export interface SecretSource {
  /** The current value. Throws UserError when its file cannot be read. */
  read(): string | undefined
}

/** The current node token. It may arrive after the agent has started, and be replaced while it runs. */
export interface Token {
  current(): string | undefined
  /** Reads the source again: after a 401, or while there is no token. */
  refresh(): void
}

/** `complain` is called with the reason when the source cannot be read; the last good token stays in use. */
export function createToken(source: SecretSource, complain: (sentence: string) => void): Token {
  let value = source.read()
  return {
    current: () => value,
    refresh: () => {
      try {
        value = source.read() ?? value
      } catch (e) {
        complain(faultWords(e))
      }
    },
  }
}
