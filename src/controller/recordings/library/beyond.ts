// Sends a take from this disk or, where it is no longer here, from the destination that keeps it.

import { Fail } from '../../../kernel/fail.ts'
import { contentDisposition, IN_PARTS, type OutgoingFile, sendBytes, sendFile } from '../../http/files.ts'
import { remoteBody } from '../../http/readahead.ts'
import type { Incoming } from '../../http/route.ts'
import type { UploadsApi } from '../../uploads/api.ts'
import type { RecordingFile } from './recordings.store.ts'

export interface Beyond {
  library: UploadsApi['library']
  redirects: boolean
  takes: string
}

/** What a route that sends takes may answer beside the whole take. */
export const MEDIA_ANSWERS = { ...IN_PARTS, 307: 'At the destination that holds it, for five minutes' } as const

const LINK_SECONDS = 300

/**
 * The answer to a GET or HEAD of a stored file, the same wherever its bytes are.
 * @throws Fail 409, 416 as `sendFile`; 502 `library_damaged`, 503 `library_unreachable`.
 */
export async function sendTake(beyond: Beyond, request: Incoming, file: RecordingFile, outgoing: OutgoingFile) {
  if (file.local === 1)
    try {
      return await sendFile(request, beyond.takes, outgoing)
    } catch (e) {
      // A database on an empty disk says that all takes are here.
      const missing = e instanceof Fail && e.reason === 'recording_file_unavailable'
      if (!missing || !beyond.library.notHere(file)) throw e
    }
  return sendRemote(beyond, request, file, outgoing)
}

function sendRemote({ library, redirects }: Beyond, request: Incoming, file: RecordingFile, outgoing: OutgoingFile) {
  const gone = request.gone()
  const elsewhere = async (): Promise<Response | undefined> => {
    const { contentType: type, disposition, name } = outgoing
    const presented = { disposition: contentDisposition(disposition, name), seconds: LINK_SECONDS, type }
    const location = await library.link(file, presented, gone)
    if (location === undefined) return undefined
    const headers = { 'Cache-Control': 'private, no-store', Location: location, 'Referrer-Policy': 'no-referrer' }
    return new Response(null, { headers, status: 307 })
  }
  return sendBytes(request, outgoing, {
    ...(redirects && mayLeave(request) ? { elsewhere } : {}),
    open: async (range) => {
      const ending = new AbortController()
      const signal = AbortSignal.any([gone, ending.signal])
      const source = await library.read(file, range, signal)
      const ended = (whole: boolean) => {
        if (!whole) ending.abort()
        outgoing.ended?.()
      }
      return remoteBody(source, range, gone, { ...outgoing, ended })
    },
    size: file.sizeBytes,
  })
}

/** A page may only load from its own origin (Content-Security-Policy): what it loads itself is read through. */
const mayLeave = (request: Incoming): boolean => ['document', undefined].includes(request.header('sec-fetch-dest'))
