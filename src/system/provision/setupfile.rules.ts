// Parses a setup file; errors are sentences for the technician.

import type * as z from 'zod'
import { UserError } from '../../kernel/fail.ts'
import { SETUP_FILE, SETUP_FILE_MAX, SetupFile } from '../../wire/provision.ts'

const MAX_ISSUES = 5
/** Longest part of a message that may repeat the file's content. */
const MAX_ISSUE_CHARACTERS = 160

/** @throws UserError, and nothing else, whatever the bytes are. */
export function parseSetupFile(bytes: Uint8Array): SetupFile {
  if (bytes.length > SETUP_FILE_MAX) throw new UserError(`${SETUP_FILE} is larger than ${SETUP_FILE_MAX / 1024} KiB.`)
  const parsed = SetupFile.safeParse(json(bytes))
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.slice(0, MAX_ISSUES).map(inWords)
  throw new UserError(
    `${SETUP_FILE} is not a setup file: ${issues.join('; ')}. Write a new one with roomtone usb-config.`,
  )
}

function json(bytes: Uint8Array): unknown {
  try {
    // An editor's byte order mark is dropped by the decoder.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // The parser's own message quotes the text, which may contain a token.
    const what = bytes.length === 0 ? 'is empty' : 'is damaged (it is not JSON)'
    throw new UserError(`${SETUP_FILE} ${what}. Write the stick again, and eject it before you remove it.`)
  }
}

function inWords({ message, path }: z.core.$ZodIssue): string {
  const where = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
  return `${where ? `${where.replace(/^\./, '')}: ` : ''}${message}`.slice(0, MAX_ISSUE_CHARACTERS)
}
