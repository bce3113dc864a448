// Reads the request: one line of JSON.
import type { Readable } from 'node:stream'
import { jsonOf } from '../../kernel/http.ts'
import { MAINTAIN_LINE_MAX, MaintainRequest } from '../../wire/maintain.ts'
import { maintenanceError } from './error.ts'

const PATIENCE_MS = 30_000

/** Up to the end of the line or stream. @throws UserError when it is too long or does not arrive */
export async function readLine(from: Readable, patienceMs: number = PATIENCE_MS): Promise<string> {
  const late = setTimeout(
    () => from.destroy(maintenanceError('misused', 'No request arrived on standard input.')),
    patienceMs,
  )
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of from as AsyncIterable<Buffer>) {
      pieces.push(piece)
      size += piece.length
      if (size > MAINTAIN_LINE_MAX)
        throw maintenanceError('misused', `The request is longer than ${MAINTAIN_LINE_MAX} bytes.`)
      if (piece.includes(10)) break
    }
  } finally {
    clearTimeout(late)
  }
  return Buffer.concat(pieces).toString('utf8').split('\n', 1)[0] as string
}

/** @throws UserError that never quotes a value: it may be a token */
export function parseRequest(line: string): MaintainRequest {
  // Its own message would quote the text, which may contain a token.
  const request = jsonOf(line)
  if (request === undefined)
    throw maintenanceError('misused', 'Not a maintenance request: expected one line of JSON on standard input.')
  const { data, error } = MaintainRequest.safeParse(request)
  if (data) return data
  const faults = error.issues.map(({ code, message, path }) =>
    code === 'unrecognized_keys'
      ? 'it has a field that this version does not know'
      : `${path.join('.') || 'it'}: ${message}`,
  )
  throw maintenanceError('misused', `Not a maintenance request: ${faults.join('; ')}.`)
}
