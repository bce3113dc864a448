import { UserError } from '../../kernel/fail.ts'
import { MAINTAIN_EXIT } from '../../wire/maintain.ts'

/** Why an action ends without success: one sentence for people, without secrets, and how the program ends. */
export const maintenanceError = (how: keyof typeof MAINTAIN_EXIT, message: string): UserError =>
  new UserError(message, MAINTAIN_EXIT[how])
