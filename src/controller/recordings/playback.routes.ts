import { conflict } from '../../kernel/fail.ts'
import { type Rendition, RenditionQuery } from '../../wire/recordings.ts'
import { sendFile } from '../edge/files.ts'
import type { Incoming, Streamed } from '../edge/route.ts'
import { type AnyRoute, stream } from '../edge/route.ts'
import type { Library } from './library.routes.ts'
import { chosenFile, contentTypeOf, downloadName, type StoredRendition } from './recordings.rules.ts'
import type { RecordingFile } from './recordings.store.ts'

const one = (p: { id: string }) => ({ type: 'recording', id: p.id })

const byRendition = (files: RecordingFile[]): Partial<Record<StoredRendition, RecordingFile>> =>
  Object.fromEntries(files.map((file) => [file.rendition, file]))

/** Listening and downloading: HEAD, Range and conditional requests included. */
export const playbackRoutes = ({ recordings, takes }: Pick<Library, 'recordings' | 'takes'>): AnyRoute[] => {
  const send = async (
    id: string,
    rendition: Rendition | undefined,
    disposition: 'attachment' | 'inline',
    request: Incoming,
  ): Promise<Streamed> => {
    const recording = recordings.get(id)
    const file = chosenFile(byRendition(recordings.files(id)), rendition)
    if (!file) throw conflict('recording_not_cached', 'Recording is not cached')
    const name = downloadName(recording, file.path)
    const { response, size } = await sendFile(request, takes, {
      contentType: contentTypeOf(file.path),
      disposition,
      name,
      path: file.path,
      size: file.sizeBytes,
      storedAt: file.storedAt,
      tag: file.checksum,
    })
    return {
      correlation: { recordingId: id },
      details: { disposition, fileName: name.ascii, rendition: rendition ?? 'default', size },
      response,
    }
  }
  return [
    stream({
      method: 'GET',
      path: '/recordings/:id/stream',
      auth: 'user',
      permission: 'recording:playback',
      action: 'recordings.playback.stream',
      target: one,
      query: RenditionQuery,
      run: ({ params, query, request }) => send(params.id, query.rendition, 'inline', request),
    }),
    stream({
      method: 'GET',
      path: '/recordings/:id/file',
      auth: 'user',
      permission: 'recording:download',
      action: 'recordings.download.file',
      target: one,
      query: RenditionQuery,
      run: ({ params, query, request }) => send(params.id, query.rendition, 'attachment', request),
    }),
  ]
}
