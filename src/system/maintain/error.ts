import { UserError } from '../../kernel/fail.ts'
import { MAINTAIN_EXIT } from '../../wire/maintain.ts'

/** Why an action failed: one sentence without secrets, and the exit code. */
export const maintenanceError = (how: keyof typeof MAINTAIN_EXIT, message: string): UserError =>
  new UserError(message, MAINTAIN_EXIT[how])
