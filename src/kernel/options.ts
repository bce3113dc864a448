/** Whether `parseArgs` refused what was typed: an unknown option, a value too many or missing. Its message says which. */
export const isOptionError = (e: unknown): e is Error =>
  e instanceof TypeError && String((e as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS')
