import { MAINTAIN_EXIT } from '../../wire/maintain.ts'

/** Why an action ends without success: one sentence for people, without secrets, and how the program ends. */
export class Ended extends Error {
  readonly exit: number

  constructor(how: keyof typeof MAINTAIN_EXIT, sentence: string) {
    super(sentence)
    this.exit = MAINTAIN_EXIT[how]
  }
}
