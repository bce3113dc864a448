import { faultWords } from '../kernel/words.ts'

/** Where a secret comes from, so that a daemon can look again after it was replaced. */
export interface SecretSource {
  /** The value now. Throws UserError when its file cannot be read. */
  read(): string | undefined
}

/** The node token of the moment. It may come later than the agent, and be replaced while the agent runs. */
export interface Token {
  current(): string | undefined
  /** Looks at the source again: after a 401, or while there is none. */
  refresh(): void
}

/** `complain` gets a sentence when the source cannot be read; the last good token stays. */
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
